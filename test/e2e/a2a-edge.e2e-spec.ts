import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { verifyAgentCardSignature } from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client';
import { permissionsOf, ROLES } from '../../apps/api/src/auth/permissions.js';
import { messageTo, METHODS, textOf, withKey } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { type Jwks, type SignedCard, verifications } from '../support/card-signatures.js';

interface RpcBody {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; status?: string; data?: object[]; details?: object[] };
  [field: string]: unknown;
}

const VERSION = { 'a2a-version': '1.0' };
const FACTS = 'urn:rollcall:a2a:v1';

const newKey = (): JsonWebKey =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const KEYS = { old: newKey(), new: newKey() };

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startApi({
    ROLLCALL_PUBLIC_URL: 'https://fleet.example.com/base/',
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_A2A_SIGNING_KEYS: JSON.stringify([KEYS.old]),
  });
  key = await api.given.key('caller');
  const content = { description: 'Echoes.', instructions: 'Echo.', capabilities: ['text.echo'] };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
});
afterAll(async () => await api.stop());

const message = (more: object = {}): object => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'Hello.' }], ...more },
});
const rpc = async (method: string, params?: object, by = key): Promise<Answer<RpcBody>> =>
  await api.call('POST', '/a2a/agents/echo', {
    key: by,
    headers: VERSION,
    body: { jsonrpc: '2.0', id: 7, method, params },
  });
async function raw(path: string, text: string, headers: Record<string, string> = {}): Promise<Answer<RpcBody>> {
  const own = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...VERSION };
  const response = await fetch(api.url + path, { method: 'POST', headers: { ...own, ...headers }, body: text });
  return { status: response.status, headers: response.headers, body: (await response.json()) as RpcBody };
}

describe('the cards', () => {
  it('S3.12 Rollcall has a public card with its public URL, an ETag and a maximum age', async () => {
    const { status, body, headers } = await api.call('GET', '/.well-known/agent-card.json', { key: null });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        name: 'Rollcall',
        supportedInterfaces: [
          { url: 'https://fleet.example.com/base/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
          { url: 'https://fleet.example.com/base/a2a', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
          { url: 'https://fleet.example.com/base/a2a', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
        ],
        capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
        skills: [{ id: 'route' }, { id: 'register' }, { id: 'query' }, { id: 'announce' }],
      },
    });
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    const etag = headers.get('etag') ?? '';
    const again = await fetch(`${api.url}/.well-known/agent-card.json`, { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(304);
  });

  it('P-4 a client that names no version gets one card for both versions', async () => {
    const path = '/.well-known/agent-card.json';
    const [both, latest] = await Promise.all(
      [{}, VERSION].map(async (headers) => (await api.call('GET', path, { key: null, headers })).body),
    );
    expect(both).toMatchObject({ ...latest, signatures: [{}] }); // a signature is made for each response
    const url = 'https://fleet.example.com/base/a2a';
    const old = { url, preferredTransport: 'JSONRPC', protocolVersion: '0.3', security: [{ bearer: ['runs:start'] }] };
    expect(both).toMatchObject({
      ...old,
      supportsAuthenticatedExtendedCard: true,
      securitySchemes: { bearer: { type: 'http', scheme: 'Bearer', httpAuthSecurityScheme: { scheme: 'Bearer' } } },
    });
    expect(latest).not.toHaveProperty('url');
  });

  it('S3.12 the card of an agent is its live record, and shows no internal address', async () => {
    const agent = {
      agentId: 'Builder:1',
      name: 'Builder',
      capabilities: ['code.build'],
      endpoint: 'http://127.0.0.1:8099/internal',
    };
    await api.given.agent({ ...agent, version: '2.1', costModel: { usdPerTask: 0.5 } });
    const card = async (id: string): Promise<RpcBody> =>
      (await api.call<RpcBody>('GET', `/a2a/agents/${id}/.well-known/agent-card.json`, { key })).body;
    expect(await card('Builder%3A1')).toMatchObject({
      name: 'Builder',
      version: '2.1',
      supportedInterfaces: [{ url: 'https://fleet.example.com/base/a2a/agents/Builder%3A1' }, {}, {}],
      skills: [{ id: 'code.build', tags: ['code', 'build'] }],
      capabilities: {
        extensions: [
          {
            uri: FACTS,
            params: {
              price: { usdPerTask: 0.5 },
              health: { status: 'active', circuit: 'closed' },
              load: { inFlight: 0 },
            },
          },
        ],
      },
    });
    expect(JSON.stringify(await card('Builder%3A1'))).not.toContain('127.0.0.1:8099');
    expect(await card('echo')).toMatchObject({ name: 'echo', version: '1', description: 'Echoes.' });
    const { body: same } = await api.call('GET', '/a2a/agents/echo', { key });
    expect({ ...same, signatures: [] }).toEqual({ ...(await card('echo')), signatures: [] });
    expect(await api.call('GET', '/a2a/agents/absent', { key })).toMatchObject({
      status: 404,
      body: { code: 'AGENT_NOT_FOUND' },
    });
  });

  it('S3.12 the extended card of Rollcall lists the capabilities of the namespace; that of an agent has its details', async () => {
    const { body } = await api.call<RpcBody>('GET', '/a2a/extendedAgentCard', { key, headers: VERSION });
    expect(body['skills']).toMatchObject([{}, {}, {}, {}, { id: 'code.build' }]);
    const headers = { ...VERSION, 'a2a-extensions': FACTS };
    const one = await api.call('GET', '/a2a/agents/Builder%3A1/extendedAgentCard', { key, headers });
    expect(one.body).toMatchObject({ capabilities: { extensions: [{ params: { sandboxLevel: 0, labels: {} } }] } });
    expect(one.headers.get('a2a-extensions')).toBe(FACTS);
  });
});

describe('the signatures of cards', () => {
  const signed = async (on: TestApi, path = '/.well-known/agent-card.json'): Promise<SignedCard> =>
    (await on.call<SignedCard>('GET', path, { key, headers: VERSION })).body;

  it('S3.12 a card can be verified with the published keys, by the SDK and by another implementation of JOSE', async () => {
    for (const path of ['/.well-known/agent-card.json', '/a2a/agents/echo']) {
      const card = await signed(api, path);
      const { keys } = (await api.call<Jwks>('GET', '/.well-known/jwks.json', { key: null })).body;
      expect(keys.map(({ d }) => d)).toEqual([undefined]);
      expect(verifications(card, keys)).toEqual([true]);
      expect(verifications({ ...card, description: 'Other.' }, keys)).toEqual([false]);
      const verify = verifyAgentCardSignature(async () => await Promise.resolve(keys[0] as never));
      await verify(card as never); // the card is plain JSON, because the objects of the SDK lose the security schemes
    }
  });

  it('S3.12 during a rotation, a card has the signatures of both keys, and another ETag', async () => {
    const before = await api.call('GET', '/.well-known/agent-card.json', { key: null });
    const during = await api.replica({ ROLLCALL_A2A_SIGNING_KEYS: JSON.stringify([KEYS.new, KEYS.old]) });
    const { keys } = (await during.call<Jwks>('GET', '/.well-known/jwks.json')).body;
    expect(verifications(await signed(during), keys)).toEqual([true, true]);
    const after = await during.call('GET', '/.well-known/agent-card.json', { key: null });
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    await during.stop();
  });
});

describe('the errors of JSON-RPC', () => {
  it.each<[string, string, object]>([
    ['invalid JSON', '{"jsonrpc":', { status: 200, body: { id: null, error: { code: -32_700 } } }],
    ['a batch', '[]', { status: 200, body: { id: null, error: { code: -32_600 } } }],
    ['a body that is not JSON-RPC', '{"method":"GetTask"}', { status: 200, body: { error: { code: -32_600 } } }],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":"b"}', { body: { id: 'b', error: { code: -32_600 } } }],
    [
      'an unknown method',
      '{"jsonrpc":"2.0","id":"a","method":"Fly","params":{}}',
      { body: { id: 'a', error: { code: -32_601 } } },
    ],
    [
      'parameters that are a list',
      '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[]}',
      { body: { id: 1, error: { code: -32_600 } } },
    ],
    [
      'a NUL character',
      '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"\\u0000"}}',
      { body: { error: { code: -32_700 } } },
    ],
  ])('S3.12 JSON-RPC rejects %s', async (_name, text, expected) => {
    expect(await raw('/a2a/agents/echo', text)).toMatchObject(expected);
  });

  it.each<[string, object, number]>([
    ['no message', {}, -32_602],
    ['no messageId', message({ messageId: '' }), -32_602],
    ['the role of the agent', message({ role: 'ROLE_AGENT' }), -32_602],
    ['no parts', message({ parts: [] }), -32_602],
    ['a part with two contents', message({ parts: [{ text: 'a', url: 'https://a.example' }] }), -32_602],
    ['a part without content', message({ parts: [{ mediaType: 'text/plain' }] }), -32_602],
    ['only blanks', message({ parts: [{ text: '  ' }] }), -32_602],
    ['bytes that are not Base64', message({ parts: [{ raw: '%%%' }] }), -32_602],
    ['an unknown task', message({ taskId: 'absent' }), -32_001],
    [
      'a push notification to a metadata service',
      { ...message(), configuration: { taskPushNotificationConfig: { url: 'http://169.254.169.254/' } } },
      -32_602,
    ],
    ['a negative length of the history', { ...message(), configuration: { historyLength: -1 } }, -32_602],
  ])('S3.12 SendMessage with %s is rejected', async (_name, params, code) => {
    const { status, body } = await rpc('SendMessage', params);
    expect({ status, id: body.id, code: body.error?.code }).toEqual({ status: 200, id: 7, code });
    expect(body.error?.data).toMatchObject([
      { domain: 'a2a-protocol.org', reason: expect.stringMatching(/^[A-Z_]+$/) },
    ]);
  });

  it('P-3 a slash at the end of the address is ignored', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} });
    for (const path of ['/a2a/', '/a2a/agents/echo/', '/a2a/agents/echo/?A2A-Version=1.0'])
      expect(await raw(path, body)).toMatchObject({ status: 200, body: { result: { tasks: expect.any(Array) } } });
    expect((await api.call('GET', '/a2a/agents/echo/', { key })).status).toBe(200);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const headers = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' };
    for (const path of ['/mcp', '/mcp/'])
      expect((await api.call('POST', path, { key, headers, body: ping })).status).toBe(200);
    expect((await raw('/a2a//', body)).status).toBe(404);
  });

  it.each(['JSON-RPC', 'HTTP+JSON'])('P-5 %s accepts all forms of ProtoJSON', async (binding) => {
    const sent = async (params: object): Promise<RpcBody> => {
      const answer =
        binding === 'JSON-RPC'
          ? (await rpc('SendMessage', params)).body.result
          : (await raw('/a2a/agents/echo/message:send', JSON.stringify(params))).body;
      return answer as RpcBody;
    };
    const done = { task: { status: { state: 'TASK_STATE_COMPLETED' } } };
    const absent = { contextId: null, taskId: null, metadata: null, referenceTaskIds: null };
    const empty = { configuration: { historyLength: null }, metadata: null, tenant: null };
    expect(await sent({ ...message(absent), ...empty })).toMatchObject(done);
    const part = { text: 'Hi.', raw: null, url: null, filename: null, media_type: 'text/plain' };
    const snake = { message_id: crypto.randomUUID(), context_id: 'talk', role: 1, parts: [part] };
    const metadata = { snake_case: null };
    expect(await sent({ message: { ...snake, metadata }, configuration: { history_length: 0 } })).toMatchObject({
      task: { ...done.task, contextId: 'talk', artifacts: [{ parts: [{ text: 'You said: Hi.' }] }] },
    });
    const page =
      binding === 'JSON-RPC'
        ? (await rpc('ListTasks', { page_size: 1, status: 3, context_id: null })).body.result
        : (await api.call('GET', '/a2a/agents/echo/tasks?page_size=1&status=3', { key, headers: VERSION })).body;
    expect(page).toMatchObject({ pageSize: 1, tasks: [done.task] });
  });

  it('S3.12 unknown fields are ignored', async () => {
    const { body } = await rpc('SendMessage', { ...message({ later: 1 }), another: true });
    expect(body.result).toMatchObject({ task: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  it('S3.12 errors that occur before the method is called keep their HTTP status', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } };
    const errors = { domain: 'rollcall' };
    expect(await api.call('POST', '/a2a', { key: null, headers: VERSION, body })).toMatchObject({
      status: 401,
      body: { jsonrpc: '2.0', error: { code: -32_000, data: [{ ...errors, reason: 'UNAUTHENTICATED' }] } },
    });
    expect(await api.call('POST', '/a2a/agents/absent', { key, headers: VERSION, body })).toMatchObject({
      status: 404,
      body: { id: 1, error: { data: [{ ...errors, reason: 'AGENT_NOT_FOUND' }] } },
    });
    const large = await raw('/a2a', JSON.stringify({ ...body, params: { id: 'x'.repeat(300_000) } }));
    expect(large).toMatchObject({ status: 413, body: { error: { data: [{ ...errors, reason: 'BODY_TOO_LARGE' }] } } });
    const xml = await raw('/a2a', '<a/>', { 'content-type': 'application/xml' });
    expect(xml).toMatchObject({ status: 200, body: { error: { code: -32_005 } } });
  });

  it('S3.12 the version is a header or a query parameter, and an unsupported version is rejected', async () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params: { id: 'x' } });
    expect((await raw('/a2a', body, { 'a2a-version': '2.0' })).body.error?.code).toBe(-32_009);
    expect((await raw('/a2a?A2A-Version=1.0', body, { 'a2a-version': '' })).body.error?.code).toBe(-32_001);
  });

  it('S3.12 each role may call the methods that its permissions include', async () => {
    for (const role of ROLES) {
      const by = await api.given.key(role);
      for (const [method, permission] of Object.entries(METHODS)) {
        const { status } = await rpc(method, { id: 'absent' }, by);
        expect({ role, method, status }).toEqual({
          role,
          method,
          status: permissionsOf([role]).includes(permission) ? 200 : 403,
        });
      }
    }
  });
});

describe('the errors of HTTP+JSON', () => {
  it.each<[string, string, string, Record<string, string>, object]>([
    [
      'invalid JSON',
      '/a2a/message:send',
      '{',
      {},
      { status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT' } } },
    ],
    [
      'another media type',
      '/a2a/message:send',
      'a',
      { 'content-type': 'text/plain' },
      { status: 400, body: { error: { details: [{ reason: 'CONTENT_TYPE_NOT_SUPPORTED' }] } } },
    ],
    [
      'a large body',
      '/a2a/message:send',
      `"${'x'.repeat(300_000)}"`,
      {},
      { status: 413, body: { error: { code: 413 } } },
    ],
    [
      'no message',
      '/a2a/message:send',
      '{}',
      {},
      { status: 400, body: { error: { details: [{ reason: 'INVALID_PARAMS' }] } } },
    ],
    [
      'no version',
      '/a2a/message:send',
      '{}',
      { 'a2a-version': '' },
      { status: 400, body: { error: { details: [{ reason: 'VERSION_NOT_SUPPORTED' }] } } },
    ],
    [
      'an unknown task',
      '/a2a/tasks/absent:cancel',
      '{}',
      {},
      { status: 404, body: { error: { status: 'NOT_FOUND', details: [{ reason: 'TASK_NOT_FOUND' }] } } },
    ],
    [
      'an unknown agent',
      '/a2a/agents/absent/message:send',
      '{}',
      {},
      { status: 404, body: { error: { details: [{ reason: 'AGENT_NOT_FOUND', domain: 'rollcall' }] } } },
    ],
    [
      'no credential',
      '/a2a/message:send',
      '{}',
      { authorization: '' },
      { status: 401, body: { error: { status: 'UNAUTHENTICATED' } } },
    ],
  ])('S3.12 HTTP+JSON rejects a request with %s', async (_name, path, text, headers, expected) => {
    expect(await raw(path, text, headers)).toMatchObject(expected);
  });

  it.each([
    'pageSize=0',
    'pageSize=101',
    'pageSize=NaN',
    'pageToken=forged',
    'status=FLYING',
    'historyLength=x',
    'statusTimestampAfter=soon',
  ])('S3.12 a list with %s is rejected', async (query) => {
    const { status, body } = await api.call<RpcBody>('GET', `/a2a/tasks?${query}`, { key, headers: VERSION });
    expect({ status, reason: body.error?.details }).toMatchObject({
      status: 400,
      reason: [{ reason: 'INVALID_PARAMS' }],
    });
  });

  it('S3.12 a page has all its fields', async () => {
    const { body, headers } = await api.call('GET', '/a2a/tasks?contextId=none', { key, headers: VERSION });
    expect(body).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 });
    expect(headers.get('content-type')).toContain('application/a2a+json');
  });
});

describe('version 0.3', () => {
  it('S3.12 the client of the SDK uses the card, the messages and the streams of version 0.3', async () => {
    const fetchImpl = withKey(key);
    const legacyCompat = { enabled: true };
    const local: typeof fetch = async (input, init) =>
      await fetchImpl(String(input).replace('https://fleet.example.com/base', api.url), init);
    const factory = new ClientFactory({
      transports: [new JsonRpcTransportFactory({ fetchImpl: local, legacyCompat })],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: withVersion(local), legacyCompat }),
    });
    const client = await factory.createFromUrl(`${api.url}/a2a/agents/echo/`);
    expect(client.protocolVersion).toBe('0.3');
    const task = await client.sendMessage(messageTo('Hello.'));
    expect('artifacts' in task && textOf(task)).toBe('You said: Hello.');
    const cases: unknown[] = [];
    for await (const { payload } of client.sendMessageStream(messageTo('Again.'))) cases.push(payload?.$case);
    expect(cases[0]).toBe('task');
    await expect(client.getTask({ tenant: '', id: 'absent' })).rejects.toMatchObject({ name: 'TaskNotFoundError' });
  });

  it('P-5 the configuration of push notifications is found without its id', async () => {
    const old = async (method: string, params: object): Promise<unknown> => {
      const body = { jsonrpc: '2.0', id: 1, method, params };
      return (await api.call<RpcBody>('POST', '/a2a/agents/echo', { key, body })).body.result;
    };
    const { messageId, parts } = { messageId: crypto.randomUUID(), parts: [{ kind: 'text', text: 'Hi.' }] };
    const task = await old('message/send', { message: { kind: 'message', role: 'user', messageId, parts } });
    const { id } = task as { id: string };
    const pushNotificationConfig = { url: 'http://127.0.0.1:9999', id: 'first' };
    await old('tasks/pushNotificationConfig/set', { taskId: id, pushNotificationConfig });
    expect(await old('tasks/pushNotificationConfig/get', { id })).toMatchObject({ pushNotificationConfig });
  });
});

function withVersion(fetchImpl: typeof fetch): typeof fetch {
  return async (input, init = {}) => await fetchImpl(input, { ...init, headers: { 'a2a-version': '0.3' } });
}
