import { gzipSync } from 'node:zlib';
import { startApi, type TestApi } from '../support/api.js';
import { registrationBody } from '../support/given.js';

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

const AFTER = 'after must be oldest, latest, a cursor such as 1042-9f3c27d1, or a sequence such as 1042';

async function messagesOf(method: string, path: string, body?: unknown): Promise<string[]> {
  const answer = await api.call<{ errors: { message: string }[] }>(method, path, { body });
  expect(answer.status).toBe(400);
  return answer.body.errors.map(({ message }) => message);
}

describe('the message about an invalid field', () => {
  it.each([
    ['POST', '/v1/agents', registrationBody({ capacity: '3' }), 'capacity must be a number'],
    ['POST', '/v1/agents', registrationBody({ sandboxLevel: '2' }), 'sandboxLevel must be a number'],
    ['POST', '/v1/agents', registrationBody({ name: null }), 'name must be a string'],
    ['POST', '/v1/agents', { capabilities: ['build'] }, 'name is required'],
    ['POST', '/v1/agents', { name: 'x' }, 'capabilities is required'],
    ['POST', '/v1/agents/batch', { agents: {} }, 'agents must be a list'],
    ['POST', '/v1/agents/batch', {}, 'agents is required'],
    ['POST', '/v1/agents/query', { capabilities: 'bulk' }, 'capabilities must be a list'],
    ['POST', '/v1/agents/query', { capabilities: [5] }, 'each value in capabilities must be a string'],
    ['POST', '/v1/agents/x/probe', {}, 'probeId is required'],
    ['POST', '/v1/definition-imports', { files: [null] }, 'files.0 must be an object'],
    ['POST', '/v1/definition-imports', { files: 'x' }, 'files must be a list'],
    ['POST', '/v1/budgets/1/adjust', { note: 'x', limit: 5 }, 'limit must be an object'],
    ['POST', '/v1/agents/x/drain', { note: 5 }, 'note must be a string'],
    ['POST', '/v1/keys', { name: 'x', roles: 'viewer' }, 'roles must be a list'],
    ['POST', '/v1/keys', { name: 'x', roles: ['viewer', 'viewer'] }, 'roles must not contain the same element twice'],
    ['POST', '/v1/webhooks', {}, 'url is required'],
    ['POST', '/v1/budgets/1/adjust', { used: { tokens: 1 } }, 'note is required'],
    ['POST', '/v1/webhooks', { url: 'https://ops.example', after: 'x' }, AFTER],
    ['GET', '/v1/events?after=-1', undefined, AFTER],
    ['POST', '/v1/sinks/nats/replay', { after: 'x' }, 'after must be a sequence such as 1042'],
    ['POST', '/v1/budgets/1/adjust', { note: 'x', limit: {} }, 'limit or used must have tokens or microUsd'],
    [
      'POST',
      '/v1/agents',
      registrationBody({ capabilites: [] }),
      'capabilites is not a known field (did you mean capabilities?)',
    ],
    [
      'POST',
      '/v1/agents',
      registrationBody({ costModel: { usdPerTaks: 1 } }),
      'usdPerTaks is not a known field (did you mean usdPerTask?)',
    ],
    ['POST', '/v1/heartbeats', { beat: [], beats: [{}] }, 'beat is not a known field (did you mean beats?)'],
    ['POST', '/v1/agents', registrationBody({ zebra: 1 }), 'zebra is not a known field'],
    ['GET', '/v1/agents?limit=abc', undefined, 'limit must be a number'],
    ['GET', '/v1/budgets/1/forecast?hours=x', undefined, 'hours must be a number'],
  ])('%s %s states the type or the missing field before the size: %j → %s', async (method, path, body, message) => {
    expect(await messagesOf(method, path, body)).toEqual([message]);
  });

  it('states the size if the type is right', async () => {
    expect(await messagesOf('POST', '/v1/agents', registrationBody({ capacity: 1e7 }))).toEqual([
      'capacity must not be greater than 1000000',
    ]);
    expect(await messagesOf('GET', '/v1/agents?limit=0')).toEqual(['limit must not be less than 1']);
  });
});

describe('an error message', () => {
  const detailOf = async (...[method, path, options]: Parameters<TestApi['call']>): Promise<[number, string]> => {
    const { status, body } = await api.call(method, path, options);
    return [status, String(body['detail'])];
  };

  it('N-8 a run by capability explains why each agent cannot be called, or that there is none', async () => {
    const run = async (capability: string): Promise<Record<string, unknown>> =>
      (await api.call('POST', '/v1/runs', { body: { capabilities: [capability], input: 'x' } })).body;
    expect(await run('n8-none')).toMatchObject({
      code: 'RUN_TARGET_UNAVAILABLE',
      detail: 'No agent and no definition has the capability n8-none.',
    });
    await api.given.agent({ agentId: 'n8-silent', capabilities: ['n8'] });
    const answer = await run('n8');
    expect(answer['detail']).toContain('n8-silent: it has no endpoint, does not take tasks, and is not hosted');
    expect(answer['excluded']).toMatchObject([{ agentId: 'n8-silent', exclusions: [{ code: 'not_callable' }] }]);
  });

  it('N-8 unknown agents, definitions and models suggest names, and an exhausted budget names its route', async () => {
    const content = { description: 'd', instructions: 'i' };
    await api.call('POST', '/v1/definitions', { body: { name: 'n8-clerk', content } });
    const detail = async (path: string, body: object): Promise<string> =>
      String((await api.call('POST', path, { body })).body['detail']);
    expect(await detail('/v1/runs', { agent: 'n8-clrk', input: 'x' })).toContain('did you mean n8-clerk?');
    expect(await detail('/v1/runs', { definition: 'n8-clrk', input: 'x' })).toContain('did you mean n8-clerk?');
    const wrong = { name: 'n8-other', content: { ...content, model: 'dmeo', instruction: 'i' } };
    expect(await detail('/v1/definitions', wrong)).toMatch(
      /did you mean demo\?.*did you mean instructions\?|did you mean instructions\?.*did you mean demo\?/,
    );
    const body = { definition: 'n8-clerk', input: 'x', budget: { tokens: 5 } };
    const run = await api.call<{ result: { detail: string } }>('POST', '/v1/runs?waitMs=30000', { body });
    expect(run.body.result.detail).toMatch(/budget (\d+) of the run .* Top it up with POST \/v1\/budgets\/\1\/topup/);
  });

  it('says that an endpoint without a protocol needs one (N11)', async () => {
    const body = registrationBody({ endpoint: 'localhost:3000' });
    const text = 'begin it with http:// or https://. Did you mean http://localhost:3000?';
    expect(await detailOf('POST', '/v1/agents', { body })).toEqual([400, expect.stringContaining(text)]);
  });

  it.each(['/v1/agents/query', '/v1/agents/batch', '/v1/budgets/reservations', '/v1/budgets/runs'])(
    'GET %s says that the path supports POST (N11)',
    async (path) => {
      expect(await detailOf('GET', path)).toEqual([405, `${path} supports POST, not GET.`]);
    },
  );

  it('N-12 answers to programs in a terminal end with a line break, and others do not', async () => {
    const text = async (agent: string, path: string): Promise<string> => {
      const headers = { authorization: `Bearer ${api.adminKey}`, 'user-agent': agent };
      return await (await fetch(`${api.url}${path}`, { headers })).text();
    };
    for (const path of ['/v1/me', '/v1/agents/nobody']) {
      expect(await text('curl/8.7.1', path)).toMatch(/\}\n$/);
      expect(await text('node', path)).toMatch(/\}$/);
    }
  });

  it('says how to send a body whose type or encoding is not supported', async () => {
    const xml = { body: '<name/>', headers: { 'content-type': 'application/xml' } };
    expect(await detailOf('POST', '/v1/keys', xml)).toEqual([415, expect.stringContaining('application/json')]);
    const gzip = { body: Uint8Array.from(gzipSync('{}')), headers: { 'content-encoding': 'gzip' } };
    expect(await detailOf('POST', '/v1/keys', gzip)).toEqual([415, expect.stringContaining('uncompressed')]);
    const tar = { body: 'x', headers: { 'content-type': 'application/x-tar' } };
    expect(await detailOf('POST', '/v1/keys', tar)).toEqual([415, expect.stringContaining('application/json')]);
    expect(await detailOf('POST', '/v1/definition-imports', tar)).toEqual([
      415,
      'Compress the archive with gzip, and send it with the header Content-Type: application/gzip.',
    ]);
  });

  it('names the path parameter of a delivery if it is not a sequence', async () => {
    for (const sequence of ['zz', '-1', '1.5'])
      expect(await messagesOf('GET', `/v1/webhooks/wh_1/deliveries/${sequence}`)).toEqual([
        'sequence must be a whole number such as 1042',
      ]);
  });

  it('says which credential to use instead of one that lacks the permission', async () => {
    const { agentId, leaseToken } = await api.given.agent();
    const beat = { key: await api.given.key('agent'), body: { generation: 1 } };
    expect(await detailOf('POST', `/v1/agents/${agentId}/heartbeat`, beat)).toEqual([
      403,
      expect.stringContaining('Use the lease token of the agent'),
    ]);
    expect(await detailOf('GET', '/v1/agents', { key: leaseToken })).toEqual([
      403,
      expect.stringContaining('use an API key here'),
    ]);
    expect(await detailOf('GET', '/v1/keys', { key: await api.given.key('viewer') })).toEqual([
      403,
      expect.stringContaining('Use a credential whose roles include this permission'),
    ]);
  });
});
