import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

let api: TestApi;
let agentKey: string;
let agentId: string;
let token: string;
let count = 0;
beforeAll(async () => {
  api = await startApi();
  agentKey = await api.given.key('agent');
});
beforeEach(async () => {
  agentId = `builder-${(count += 1)}`;
  ({ leaseToken: token } = await api.given.agent({ agentId, labels: { team: 'a' } }, agentKey));
});
afterAll(async () => await api.stop());

async function patch(body: unknown, key: string | null = token, headers = {}): Promise<Answer> {
  return await api.call('PATCH', `/v1/agents/${agentId}`, { key, body, headers });
}

async function changes(): Promise<string[][]> {
  const { body } = await api.call<{ items: { type: string; data: { changed: string[] } }[] }>(
    'GET',
    `/v1/events?after=0&agentIds=${agentId}`,
  );
  return body.items.filter(({ type }) => type.endsWith('agent.updated')).map(({ data }) => data.changed);
}

describe('PATCH /v1/agents/{id}', () => {
  it('S3.1 updates the description of an agent, and the event names the changed fields', async () => {
    const update = {
      generation: 1,
      name: 'reviewer',
      endpoint: 'http://127.0.0.1:5092',
      agentCard: { name: 'reviewer' },
      capabilities: ['review', 'code.rust'],
      sandboxLevel: 3,
      provider: { adapter: 'openai', type: 'api' },
      costModel: { usdPer1kTokens: 0.003 },
      capacity: 4,
      declaredMs: 900,
      version: '2.0.0',
      labels: { team: null, tier: 'gold' },
    };
    expect(await patch(update)).toMatchObject({
      status: 200,
      body: {
        name: 'reviewer',
        endpoint: 'http://127.0.0.1:5092',
        agentCard: { name: 'reviewer' },
        capabilities: ['review', 'code.rust'],
        sandboxLevel: 3,
        provider: { adapter: 'openai', type: 'api', plan: null },
        costModel: { usdPerTask: null, usdPer1kTokens: 0.003 },
        load: { capacity: 4 },
        latency: { declaredMs: 900 },
        version: '2.0.0',
        labels: { tier: 'gold' },
        generation: 1,
      },
    });
    expect((await patch(update)).status).toBe(200);
    await until('the event is in the log', async () => (await changes()).length > 0);
    const changed = await changes();
    expect(changed.map(({ length }) => length)).toEqual([11]);
    const found = await api.call<{ candidates: unknown[] }>('POST', '/v1/agents/query', {
      body: { capabilities: ['code'], consistency: 'strong' },
    });
    expect(found.body.candidates).toHaveLength(1);
  });

  it('B4 requires the lease token with the current generation, the key of the owner, or an operator', async () => {
    expect(await patch({ name: 'x' })).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
    expect(await patch({ name: 'x', generation: 2 })).toMatchObject({
      status: 409,
      body: { code: 'GENERATION_AHEAD' },
    });
    for (const role of ['agent', 'viewer'] as const)
      expect((await patch({ name: 'x', generation: 1 }, await api.given.key(role))).status).toBe(403);
    const other = await api.given.agent({}, agentKey);
    expect(await patch({ name: 'x', generation: 1 }, other.leaseToken)).toMatchObject({
      status: 403,
      body: { code: 'LEASE_TOKEN_REFUSED' },
    });
    expect((await patch({ labels: { ring: '1' } }, await api.given.key('operator'))).status).toBe(200);
    const { body } = await api.call<{ items: { action: string; details: unknown }[] }>(
      'GET',
      `/v1/audit?target=${agentId}`,
    );
    expect(body.items).toMatchObject([{ action: 'agent.updated', details: { labels: { ring: '1' } } }]);
  });

  it('B4 an update with If-Match changes only the version that the caller has read', async () => {
    const read = await api.call('GET', `/v1/agents/${agentId}`);
    const etag = read.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"1\.\d+"$/);
    const first = await patch({ name: 'one' }, api.adminKey, { 'if-match': etag });
    expect(first.status).toBe(200);
    expect(await patch({ name: 'two' }, api.adminKey, { 'if-match': etag })).toMatchObject({
      status: 412,
      body: { code: 'AGENT_CHANGED' },
    });
    const latest = { 'if-match': first.headers.get('etag') ?? '' };
    expect((await patch({ name: 'two' }, api.adminKey, latest)).body).toMatchObject({ name: 'two' });
    expect((await patch({ name: 'x' }, api.adminKey, { 'if-match': 'W/"1.1"' })).status).toBe(400);
  });

  it('R-5 an update with If-Match is accepted if the agent was only called since the caller has read it', async () => {
    const read = await api.call('GET', `/v1/agents/${agentId}`);
    const etag = read.headers.get('etag') ?? '';
    const report = { key: await api.given.key('caller'), body: { ok: false } };
    for (let failures = 0; failures < 6; failures++) await api.call('POST', `/v1/agents/${agentId}/outcomes`, report);
    const called = await api.call('GET', `/v1/agents/${agentId}`);
    expect(called.body).toMatchObject({ health: { circuitBreakerState: 'open' } });
    expect(called.headers.get('etag')).toBe(etag);
    expect((await patch({ name: 'called' }, api.adminKey, { 'if-match': etag })).status).toBe(200);
  });

  it('S3.1 limits the number of labels over several updates', async () => {
    const labels = (from: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`l${from + index}`, 'x']));
    expect((await patch({ generation: 1, labels: labels(0) })).status).toBe(200);
    expect(await patch({ generation: 1, labels: labels(60) })).toMatchObject({
      status: 400,
      body: { code: 'TOO_MANY_LABELS' },
    });
  });

  it('S3.2 rejects an unknown lease token before it checks the endpoint', async () => {
    const body = { generation: 1, endpoint: 'http://10.0.0.1/' };
    expect(await patch(body, `rl_${'x'.repeat(43)}`)).toMatchObject({
      status: 401,
      body: { code: 'UNAUTHENTICATED' },
    });
  });

  it('B3 an update with an Idempotency-Key has one effect and returns the same response', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await patch({ generation: 1, name: 'one' }, token, headers);
    await patch({ generation: 1, name: 'two' });
    const again = await patch({ generation: 1, name: 'one' }, token, headers);
    expect([again.body, again.headers.get('etag')]).toEqual([first.body, first.headers.get('etag')]);
    expect((await api.call('GET', `/v1/agents/${agentId}`)).body).toMatchObject({ name: 'two' });
  });

  it.each([
    ['a null name', { name: null }],
    ['an empty name', { name: '' }],
    ['no capabilities', { capabilities: [] }],
    ['null capabilities', { capabilities: null }],
    ['one capability in two spellings', { capabilities: ['code build', 'Code_Build'] }],
    ['a null provider', { provider: null }],
    ['a negative price', { costModel: { usdPerTask: -1 } }],
    ['a null price list', { costModel: null }],
    ['null labels', { labels: null }],
    ['a budget, which has its own route', { budget: { totalTokens: 1 } }],
    ['another agentId', { agentId: 'other' }],
    ['an unknown field', { colour: 'red' }],
  ])('S3.2 rejects an update with %s', async (_what, body) => {
    expect(await patch({ generation: 1, ...body })).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it.each(['[]', '"text"', '7', 'true'])('S3.2 rejects the body %s because it is not an object', async (body) => {
    const headers = { 'content-type': 'application/json' };
    expect(await patch(body, token, headers)).toMatchObject({
      status: 400,
      body: { errors: [{ message: 'the body, or the `data` of a frame, must be a JSON object' }] },
    });
  });

  it.each(['http://169.254.169.254/latest', 'http://10.0.0.1/', 'ftp://x.example/', 'not a url'])(
    'S3.2 rejects an update with the endpoint %s',
    async (endpoint) => {
      expect(await patch({ generation: 1, endpoint })).toMatchObject({ status: 400, body: { code: 'EGRESS_DENIED' } });
    },
  );
});
