import { startApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => (api = await startApi({ ROLLCALL_TRUSTED_PROXIES: '127.0.0.1' })));
afterAll(async () => await api.stop());

const HEADERS = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' };

/** A question mark at its end is enough to make an address one for the ordinary route. */
async function securityOf(path: string): Promise<string | null> {
  const body = { capabilities: ['build'] };
  const { headers } = await api.call('POST', path, { body, headers: HEADERS });
  return headers.get('strict-transport-security');
}

describe('the express lane behind a gateway', () => {
  it('S3.6 tells browsers to stay with https, as the ordinary route does', async () => {
    const [byLane, byRoute] = [await securityOf('/v1/agents/query'), await securityOf('/v1/agents/query?')];
    expect(byRoute).not.toBeNull();
    expect(byLane).toBe(byRoute);
  });
});
