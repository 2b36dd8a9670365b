import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { callTool, type Facts, mcpClient, rawRequest } from '../support/mcp-client.js';
import { rawHttp } from '../support/raw-http.js';
import { TestAgents } from '../support/test-agents.js';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_MCP_ALLOWED_HOSTS: 'mcp.example.com,page.example.com' });
  const agents = new TestAgents();
  agents.install(api);
  await agents.define(api);
  key = await api.given.key('caller');
  const content = { description: 'Echoes.', instructions: 'Echo.' };
  await api.call('POST', '/v1/definitions', { body: { name: 'echo', content } });
});
afterAll(async () => await api.stop());

const post = async (
  { body, headers }: ReturnType<typeof rawRequest>,
  changes: { headers?: Record<string, string>; key?: string | null; path?: string } = {},
): Promise<Answer> =>
  await api.call('POST', changes.path ?? '/mcp', {
    key: changes.key === undefined ? key : changes.key,
    body,
    headers: { ...headers, ...changes.headers },
  });
const errorOf = ({ body }: Answer): Facts => body['error'] as Facts;

describe('the endpoint of MCP', () => {
  it('S3.12 a tool without the permission is refused with 403, and is not found in a batch', async () => {
    const by = await api.given.key('viewer');
    const call = rawRequest('tools/call', { name: 'cancel_run', arguments: { runId: 'x' } });
    const refused = await post(call, { key: by });
    expect(refused).toMatchObject({ status: 403, body: { jsonrpc: '2.0', error: { data: { code: 'FORBIDDEN' } } } });
    const batch = { ...call, body: [{ jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'cancel_run' } }] };
    const { 'mcp-protocol-version': _, ...headers } = call.headers;
    const answer = await post({ body: batch.body as unknown as Facts, headers }, { key: by });
    expect(JSON.stringify(answer.body)).toContain('Tool cancel_run not found');
  });

  it('S3.12 the 401 response to an invalid or missing credential names the metadata of the resource', async () => {
    for (const by of [null, 'wrong']) {
      const { status, headers, body } = await post(rawRequest('tools/list'), { key: by });
      expect({ status, body }).toMatchObject({ status: 401, body: { error: { data: { code: 'UNAUTHENTICATED' } } } });
      const [, url = ''] = /resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '') ?? [];
      expect(url).toBe(`${api.url}/.well-known/oauth-protected-resource/mcp`);
      expect(await (await fetch(url)).json()).toEqual({
        resource: `${api.url}/mcp`,
        resource_name: 'Rollcall',
        bearer_methods_supported: ['header'],
      });
    }
    const { status, headers } = await api.call('GET', '/v1/agents', { key: null });
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="rollcall"']);
  });

  it('S3.12 the server card names the address and the protocol versions', async () => {
    const { status, headers, body } = await api.call('GET', '/mcp/server-card', { key: null });
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^application\/mcp-server-card\+json/);
    expect(body).toMatchObject({
      name: '127.0.0.1/rollcall',
      remotes: [
        {
          type: 'streamable-http',
          url: `${api.url}/mcp`,
          supportedProtocolVersions: expect.arrayContaining(['2026-07-28']),
        },
      ],
    });
  });

  it('S3.12 a Host or an Origin that is not allowed is rejected with 403', async () => {
    const { body, headers } = rawRequest('tools/list');
    const text = JSON.stringify(body);
    const send = async (host: string, origin?: string): Promise<string | undefined> => {
      const all = {
        ...headers,
        host,
        ...(origin !== undefined && { origin }),
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': String(text.length),
        connection: 'close',
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      const answer = await rawHttp(api.url, `POST /mcp HTTP/1.1\r\n${lines.join('')}\r\n${text}`);
      return answer.split(' ')[1];
    };
    expect(await send('evil.example.com')).toBe('403');
    expect(await send('mcp.example.com:8443')).toBe('200');
    expect(await send('localhost:1')).toBe('200');
    expect(await send('localhost', 'https://evil.example.com')).toBe('403');
    expect(await send('localhost', 'null')).toBe('403');
    expect(await send('localhost', 'https://page.example.com')).toBe('200');
    expect(await send('localhost', 'http://localhost:6274')).toBe('200');
  });

  it.each(['GET', 'DELETE', 'PUT'])('S3.12 the method %s gets 405', async (method) => {
    for (const path of ['/mcp', '/mcp/agents/echo']) {
      const { status, headers } = await api.call(method, path, { key });
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('S3.12 headers that are missing or contradict the body are rejected with the code of the protocol', async () => {
    const list = rawRequest('tools/list');
    const call = rawRequest('tools/call', { name: 'describe_agent', arguments: { agent: 'echo' } });
    const without = (name: string): ReturnType<typeof rawRequest> => {
      const { [name]: _, ...headers } = call.headers;
      return { ...call, headers };
    };
    const cases: [ReturnType<typeof rawRequest>, Record<string, string>, number, number][] = [
      [list, { 'mcp-method': 'tools/call' }, 400, -32_020],
      [list, { 'mcp-protocol-version': '2025-11-25' }, 400, -32_020],
      [without('mcp-protocol-version'), {}, 400, -32_020],
      [without('mcp-method'), {}, 400, -32_020],
      [without('mcp-name'), {}, 400, -32_020],
      [call, { 'mcp-name': 'run_agent' }, 400, -32_020],
      [rawRequest('tools/unknown'), {}, 404, -32_601],
    ];
    for (const [request, headers, status, code] of cases) {
      const answer = await post(request, { headers });
      expect({ headers, status: answer.status, code: errorOf(answer)['code'] }).toEqual({ headers, status, code });
    }
    const future = rawRequest('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' } });
    const answer = await post(future, { headers: { 'mcp-protocol-version': '2031-01-01' } });
    expect(answer.status).toBe(400);
  });

  it('S3.12 input that is not a request of JSON-RPC is rejected', async () => {
    const { headers } = rawRequest('tools/list');
    const send = async (body: unknown, type = 'application/json'): Promise<unknown[]> => {
      const answer = await api.call('POST', '/mcp', { key, body, headers: { ...headers, 'content-type': type } });
      return [answer.status, (answer.body['error'] as Facts | undefined)?.['code']];
    };
    expect(await send('{"jsonrpc"')).toEqual([400, -32_700]);
    expect(await send('{}', 'text/plain')).toEqual([415, -32_000]);
    expect((await send('{"jsonrpc":"1.0","id":1}'))[0]).toBe(400);
    expect((await send(''))[0]).toBe(400);
    expect(await send(`"${'x'.repeat(300_000)}"`)).toEqual([413, -32_000]);
  });

  it('S-4 a method, a name and an address that are too long are rejected, and not repeated in the answer', async () => {
    const long = '%'.repeat(60_000);
    const { headers } = rawRequest('tools/list');
    for (const body of [
      rawRequest(long).body,
      rawRequest('tools/call', { name: long, arguments: {} }).body,
      rawRequest('resources/read', { uri: `rollcall://${long}` }).body,
      rawRequest('tasks/get', { taskId: long }).body,
    ]) {
      const answer = await post({ body, headers });
      expect(answer.status).toBe(400);
      expect(JSON.stringify(answer.body).length).toBeLessThan(1_000);
    }
  });

  it('S3.12 a request to an unknown agent gets 404', async () => {
    const answer = await post(rawRequest('tools/list'), { path: '/mcp/agents/nobody' });
    expect(answer).toMatchObject({ status: 404, body: { error: { data: { code: 'AGENT_NOT_FOUND' } } } });
  });

  it('S3.12 changes are in the audit log', async () => {
    const client = await mcpClient(`${api.url}/mcp`, key);
    const { facts } = await callTool(client, 'run_agent', { agent: 'asker', input: 'Build.' });
    const { runId } = facts;
    await callTool(client, 'answer_run', { runId, input: 'main' });
    const { body } = await api.call<{ items: Facts[] }>('GET', '/v1/audit?limit=20');
    const actions = body.items.filter(({ target }) => target === runId).map(({ action }) => action);
    expect(actions).toEqual(['run.continued', 'run.started']);
  });
});

describe('the tools for hosted agents', () => {
  it('S1.12 create_agent, list_agents and shutdown_agent do what the routes of /v1/runtime do, and are audited', async () => {
    const client = await mcpClient(`${api.url}/mcp`, await api.given.key('operator'));
    const content = { description: 'Helps.', instructions: 'Help.' };
    const made = await callTool(client, 'create_agent', { name: 'mcp-made', content });
    expect(made.facts).toMatchObject({ name: 'mcp-made', provider: 'native', state: 'idle' });
    expect((await api.call('GET', '/v1/runtime/agents/mcp-made')).status).toBe(200);
    const again = await callTool(client, 'create_agent', { name: 'mcp-made', content });
    expect(again).toMatchObject({ isError: true, facts: { code: 'AGENT_ALREADY_EXISTS' } });
    const neither = await callTool(client, 'create_agent', { name: 'mcp-none' });
    expect(neither).toMatchObject({ isError: true, facts: { code: 'SPAWN_INVALID' } });
    const listed = await callTool(client, 'list_agents', { state: 'idle' });
    expect(listed.facts).toMatchObject({ items: [{ name: 'mcp-made' }], nextCursor: null });
    const closed = await callTool(client, 'shutdown_agent', { name: 'mcp-made' });
    expect(closed).toMatchObject({ isError: false, facts: { phase: 'stop', error: null } });
    expect(await callTool(client, 'shutdown_agent', { name: 'mcp-made' })).toMatchObject({ isError: true });
    const { body } = await api.call<{ items: { action: string; target: string }[] }>('GET', '/v1/audit?limit=50');
    const actions = body.items.filter(({ target }) => target === 'mcp-made').map(({ action }) => action);
    expect(actions).toEqual(['agent.shutdown', 'agent.spawned']);
    await client.close();
  });
});
