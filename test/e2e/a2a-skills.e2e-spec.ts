import { a2aClient, type Binding, BINDINGS, collect, messageTo } from '../support/a2a-client.js';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

interface RpcBody {
  result?: { message?: { role: string; taskId?: string; parts: { data: Record<string, unknown> }[] } };
  error?: { code: number; message: string; data?: { reason: string; metadata: Record<string, string> }[] };
}

const VERSION = { 'a2a-version': '1.0' };
const AUDIT = '/v1/audit?action=contract.announced';

let api: TestApi;
let admin: string;
beforeAll(async () => {
  api = await startApi();
  admin = await api.given.key('operator');
  await api.given.agent({ agentId: 'b-1', capabilities: ['build'] });
});
afterAll(async () => await api.stop());

const sent = (parts: readonly object[], more: object = {}): object => ({
  message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...more },
});
const asked = (skill: string, input: unknown): object => sent([{ data: { skill, input } }]);
const rpc = async (params: unknown, key = admin, method = 'SendMessage'): Promise<Answer<RpcBody>> =>
  await api.call('POST', '/a2a', { key, headers: VERSION, body: { jsonrpc: '2.0', id: 1, method, params } });
const dataOf = ({ body }: Answer<RpcBody>): Record<string, unknown> | undefined => body.result?.message?.parts[0]?.data;
const registration = (agentId: string): object => ({ agentId, name: 'builder', capabilities: ['build'] });

describe('the skills of Rollcall', () => {
  it('S3.12 the card lists the skills of Rollcall', async () => {
    const { body } = await api.call('GET', '/.well-known/agent-card.json', { key: null });
    expect(body['skills']).toMatchObject([{ id: 'route' }, { id: 'register' }, { id: 'query' }, { id: 'announce' }]);
  });

  it('S3.12 register registers an agent once for each messageId, and returns its lease token in a message', async () => {
    const request = asked('register', registration('r-1'));
    const first = await rpc(request);
    expect(first.body.result).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ data: expect.anything() }] } });
    const { leaseToken, generation } = dataOf(first) ?? {};
    expect(dataOf(await rpc(request))).toEqual(dataOf(first));
    const beat = { key: String(leaseToken), body: { generation } };
    expect((await api.call('POST', '/v1/agents/r-1/heartbeat', beat)).status).toBe(200);
  });

  it('S3.12 query ranks agents; the data part or the metadata names the skill', async () => {
    const query = { capabilities: ['build'], limit: 1 };
    const { body: expected } = await api.call('POST', '/v1/agents/query', { body: query });
    expect(dataOf(await rpc(asked('query', query)))).toMatchObject({
      prefer: expected['prefer'],
      candidates: [{ rank: 1 }],
    });
    const named = await rpc({ ...sent([{ text: 'Who builds?' }, { data: query }]), metadata: { skill: 'query' } });
    expect(dataOf(named)).toMatchObject({ candidates: [{ rank: 1 }] });
    const withoutInput = await rpc(sent([{ text: 'Who is there?' }], { metadata: { skill: 'query' } }));
    expect(dataOf(withoutInput)).toMatchObject({ candidates: expect.any(Array) });
  });

  it('S3.12 announce announces a contract once, with a record in the audit log', async () => {
    const request = asked('announce', { capabilities: ['build'], task: 'Build the site.' });
    const contract = dataOf(await rpc(request));
    expect(contract).toMatchObject({ state: 'announced', capabilities: ['build'] });
    expect(dataOf(await rpc(request))).toEqual(contract);
    const { body } = await api.call<{ items: object[] }>('GET', AUDIT);
    expect(body.items).toMatchObject([{ target: contract?.['id'], details: { capabilities: ['build'] } }]);
  });

  it.each<Binding>(BINDINGS)(
    'S3.12 over %s, the official client gets a message, or a stream with one message',
    async (binding) => {
      const client = await a2aClient(api.url, admin, binding);
      const request = messageTo('', { parts: [{ data: { skill: 'query', input: { capabilities: ['build'] } } }] });
      expect(await client.sendMessage(request)).toMatchObject({ parts: [{ content: { $case: 'data' } }] });
      const events = await collect(client.sendMessageStream(request));
      expect(events.map(({ payload }) => payload?.$case)).toEqual(['message']);
    },
  );

  it('S3.12 a skill needs the permission of its operation; runs:start is not enough', async () => {
    const input = { register: registration('r-2'), query: {}, announce: { capabilities: ['build'], task: 'Build.' } };
    const allowed: Record<string, string> = { agent: 'register query', viewer: 'query', caller: 'query announce' };
    for (const [role, skills] of Object.entries(allowed)) {
      const key = await api.given.key(role as 'agent');
      for (const [skill, body] of Object.entries(input)) {
        const options = { key, headers: VERSION, body: asked(skill, body) };
        const rest = (await api.call('POST', '/a2a/message:send', options)).status === 403;
        const isForbidden = (await rpc(asked(skill, body), key)).status === 403;
        const expected = !skills.includes(skill);
        expect({ role, skill, isForbidden, rest }).toEqual({ role, skill, isForbidden: expected, rest: expected });
      }
    }
  });

  it('S3.12 errors have the codes of the REST API', async () => {
    const invalid = await rpc(asked('register', { agentId: 'r-3' }));
    expect(invalid.body.error).toMatchObject({ code: -32_602, message: expect.stringContaining('name') });
    expect((await rpc(asked('announce', undefined))).body.error).toMatchObject({ code: -32_602 });
    const strategy = await rpc(asked('query', { prefer: 'best' }));
    expect(strategy.body.error?.data).toMatchObject([{ metadata: { code: 'UNKNOWN_STRATEGY' } }]);
    const unknown = await rpc(sent([{ text: 'Fly.' }], { metadata: { skill: 'fly' } }));
    expect(unknown.body.error).toMatchObject({ code: -32_602, message: expect.stringContaining('announce') });
  });

  it('S3.12 a message with a tenant, and a message with an unknown skill in a data part, are sent to an agent', async () => {
    const { body } = await rpc({ ...asked('query', {}), tenant: 'absent' });
    expect(body.error?.data).toMatchObject([{ reason: 'AGENT_NOT_FOUND' }]);
    const other = await rpc(asked('fly', {}));
    expect(other.body.error?.message).toContain('default agent');
  });
});

describe('the texts of errors', () => {
  const messageOf = async (params: unknown, method: string, headers: object = VERSION): Promise<string> => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const { error } = (await api.call<RpcBody>('POST', '/a2a', { key: admin, headers: { ...headers }, body })).body;
    return `${error?.code} ${error?.message}`;
  };
  const textOf = async (path: string, headers: object = VERSION): Promise<string> =>
    (await api.call<RpcBody>('GET', path, { key: admin, headers: { ...headers } })).body.error?.message ?? '';

  it('S3.12 errors name the possible versions, methods, parameters, URLs and states', async () => {
    expect(await textOf('/a2a/tasks', {})).toContain('Send the header A2A-Version: 1.0');
    expect(await messageOf({ id: 'x' }, 'GetTask', {})).toMatch(/^-32601 "GetTask" .*A2A-Version: 1.0/);
    expect(await messageOf(undefined, 'Fly')).toMatch(/^-32601 "Fly" .*SendMessage, /);
    for (const params of [undefined, {}, { id: 5 }, { id: '' }])
      expect(await messageOf(params, 'GetTask')).toMatch(/^-32602 .*id: /);
    expect(await messageOf({ taskId: 'x' }, 'GetTaskPushNotificationConfig')).toMatch(/^-32602 .*id: /);
    const part = { url: 'ftp://example.com/file' };
    expect(await messageOf(sent([part]), 'SendMessage')).toContain('must be an http or https URL');
    expect(await textOf('/a2a/tasks?status=foo')).toContain('TASK_STATE_COMPLETED');
  });
});
