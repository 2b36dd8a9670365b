import { startApi, type TestApi } from '../support/api.js';

let api: TestApi;
let leaseToken: string;
beforeAll(async () => {
  api = await startApi();
  ({ leaseToken } = await api.given.agent({ agentId: 'builder-01' }));
  await api.given.agent({ agentId: 'other' });
});
afterAll(async () => await api.stop());

const HEARTBEAT = '/v1/agents/builder-01/heartbeat';
const QUERY = '/v1/agents/query';
const CASES: [string, string, () => string | null, unknown, string][] = [
  ['a heartbeat', HEARTBEAT, () => leaseToken, { generation: 1, inFlight: 3 }, '200'],
  ['a heartbeat by an operator', HEARTBEAT, () => api.adminKey, { generation: 1 }, '200'],
  ['a heartbeat without a credential', HEARTBEAT, () => null, { generation: 1 }, '401 UNAUTHENTICATED'],
  [
    'a heartbeat with an unknown credential',
    HEARTBEAT,
    () => 'rk_unknown_key',
    { generation: 1 },
    '401 UNAUTHENTICATED',
  ],
  ['a heartbeat with a future generation', HEARTBEAT, () => leaseToken, { generation: 7 }, '409 GENERATION_AHEAD'],
  [
    'a heartbeat with invalid fields',
    HEARTBEAT,
    () => leaseToken,
    { generation: 0, load: -1, mood: 'fine' },
    '400 VALIDATION_FAILED',
  ],
  ['a heartbeat that is a list', HEARTBEAT, () => leaseToken, [], '400 VALIDATION_FAILED'],
  ['a heartbeat that is not JSON', HEARTBEAT, () => leaseToken, '{"generation":', '400 MALFORMED_JSON'],
  [
    'a heartbeat with a NUL character',
    HEARTBEAT,
    () => leaseToken,
    '{"generation":1,"mood":"\\u0000"}',
    '400 MALFORMED_JSON',
  ],
  [
    'a heartbeat that is nested too deeply',
    HEARTBEAT,
    () => leaseToken,
    `${'['.repeat(200)}${']'.repeat(200)}`,
    '400 MALFORMED_JSON',
  ],
  ['a query without a match', QUERY, () => api.adminKey, { capabilities: ['nothing.such'] }, '200'],
  ['a query with a lease token', QUERY, () => leaseToken, { capabilities: ['build'] }, '403 FORBIDDEN'],
  ['a strong query', QUERY, () => api.adminKey, { any: ['none'], consistency: 'strong' }, '200'],
  [
    'a query with invalid fields',
    QUERY,
    () => api.adminKey,
    { capabilities: 'build', limit: 0 },
    '400 VALIDATION_FAILED',
  ],
  ['a query with an unknown strategy', QUERY, () => api.adminKey, { prefer: 'luck' }, '400 UNKNOWN_STRATEGY'],
];

describe('heartbeats and queries', () => {
  it.each(CASES)('S3.4 S3.6 %s gets the expected status and code', async (_what, path, key, body, expected) => {
    const answer = await api.call('POST', path, { key: key(), body });
    const { code } = answer.body;
    expect(code ? `${answer.status} ${String(code)}` : String(answer.status)).toBe(expected);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    if (code) expect(answer.body['requestId']).toBe(answer.headers.get('x-request-id'));
  });

  it('S3.4 a heartbeat whose body arrives in several parts is accepted and keeps the request id of the caller', async () => {
    const parts = ['{"gener', 'ation":1,', '"inFlight":2}'];
    const body = new ReadableStream({
      async pull(controller) {
        const part = parts.shift();
        if (part === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(part));
      },
    });
    const response = await fetch(api.url + HEARTBEAT, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${leaseToken}`,
        'content-type': 'application/json',
        'content-length': '29',
        'x-request-id': 'mine-1',
      },
      body,
      duplex: 'half',
    });
    expect([response.status, response.headers.get('x-request-id')]).toEqual([200, 'mine-1']);
  });
});
