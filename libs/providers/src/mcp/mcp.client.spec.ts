import type { ServerResponse } from 'node:http';
import { until } from '#rollcall/test-support';
import { EgressClient } from '../egress/egress.client.js';
import { EgressPolicy } from '../egress/egress.policy.js';
import { Secret } from '../secrets/secret.js';
import { FakeMcpServer, type McpEra } from '../testing/fake-mcp.server.js';
import { localEgress } from '../testing/local-egress.js';
import { LocalServer } from '../testing/local-server.js';
import { expectNoOpenResources, openResources } from '../testing/open-resources.js';
import type { McpClient } from './mcp.client.js';
import { McpClients } from './mcp.clients.js';
import { McpServersSchema } from './mcp.config.js';

const TOKEN = 'static-token-0123456789';
const ECHO = { name: 'echo', inputSchema: { type: 'object' } };
const KEYS: Record<string, string> = { MCP_TOKEN: TOKEN, CLIENT_ID: 'rollcall', CLIENT_SECRET: 'client-secret-0123' };

let before: Map<string, number>;
let egress: EgressClient;
let clients: McpClients | undefined;
beforeEach(() => {
  before = openResources();
  egress = localEgress();
});
afterEach(async () => {
  await clients?.close();
  clients = undefined;
  await egress.close();
  await expectNoOpenResources(before);
});

/** Answers all requests in place of the server. */
const answeredBy =
  (answer: (response: ServerResponse) => unknown): FakeMcpServer['intercept'] =>
  (_request, response) => {
    answer(response);
    return true;
  };

/** Creates the client of one server with this configuration. */
function clientOf(config: object, { fetch }: EgressClient = egress): McpClient {
  const servers = McpServersSchema.parse({ one: config });
  const secretsOf = () => (name: string) => (KEYS[name] === undefined ? undefined : new Secret(KEYS[name]));
  clients = new McpClients({ servers, programs: {}, fetch, secretsOf });
  return clients.all[0];
}

describe.each<McpEra>(['2026', '2025'])('a client of an MCP server of %s', (era) => {
  let server: FakeMcpServer;
  beforeEach(async () => void (server = await FakeMcpServer.start(era)));
  afterEach(async () => await server.close());
  const client = (more: object = {}) => clientOf({ url: server.url, ...more });
  const answering = (answer: NonNullable<(typeof server.tools)[0]['answer']>) =>
    void (server.tools = [{ name: 'echo', answer }]);

  it('S2.2 connects at the first call and lists the tools of all pages', async () => {
    server.tools = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, description: `Does ${name}.` }));
    const one = client();
    expect(server.requests).toEqual([]);
    const tools = await one.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
    const inputSchema = { type: 'object' };
    expect(tools[0]).toEqual({ name: 'a', description: 'Does a.', inputSchema, isIdempotent: false });
  });

  it('S2.2 calls a tool several times at the same time over one connection', async () => {
    const one = client();
    const results = await Promise.all([1, 2, 3].map(async (n) => await one.callTool(ECHO, { n })));
    expect(results).toEqual([1, 2, 3].map((n) => ({ text: `{"n":${n}}`, isError: false })));
    expect(server.openSessions).toBe(era === '2025' ? 1 : 0);
  });

  it('S2.2 returns a result that reports an error', async () => {
    answering(() => ({ content: [{ type: 'text', text: 'out of paper' }], isError: true }));
    expect(await client().callTool(ECHO, {})).toEqual({ text: 'out of paper', isError: true });
  });

  it('S2.2 returns content of other types as text', async () => {
    answering(() => ({
      content: [
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        { type: 'resource_link', uri: 'file:///a', name: 'a' },
        { type: 'resource', resource: { uri: 'file:///b', text: 'content of b' } },
      ],
    }));
    const { text } = await client().callTool(ECHO, {});
    expect(text).toBe('[image/png: not shown]\n[link to a: file:///a]\ncontent of b');
    answering(() => ({ content: [], structuredContent: { total: 5 } }));
    expect((await client().callTool(ECHO, {})).text).toBe('{"total":5}');
  });

  it('S2.2 reports a tool that the server does not have with MCP_TOOL_FAILED and keeps the connection', async () => {
    const one = client();
    await expect(one.callTool({ ...ECHO, name: 'gone' }, {})).rejects.toMatchObject({ code: 'MCP_TOOL_FAILED' });
    expect(await one.callTool(ECHO, {})).toMatchObject({ isError: false });
    expect(server.openSessions).toBe(era === '2025' ? 1 : 0);
  });

  it('S2.2 ends a call at the time limit if the server hangs', async () => {
    answering(async () => await new Promise(() => undefined));
    const one = client({ timeoutMs: 200 });
    await expect(one.callTool(ECHO, {})).rejects.toMatchObject({ code: 'MCP_TIMED_OUT', retryable: true });
    await until('the request has ended', () => server.busyConnections === 0);
    answering(() => 'well again');
    expect((await one.callTool(ECHO, {})).text).toBe('well again');
  });

  it('S2.2 ends a call that the caller cancels, and the server notices the cancellation', async () => {
    answering(async () => await new Promise(() => undefined));
    const abort = new AbortController();
    const call = client().callTool(ECHO, {}, { signal: abort.signal });
    await until('the call has begun', () => server.calls.length === 1);
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('the request has ended', () => server.busyConnections === 0 && server.cancelled === 1);
  });

  it('S2.2 reads a result of 100 MB only up to the size limit', async () => {
    answering(() => 'x'.repeat(100_000_000));
    await expect(client().callTool(ECHO, {})).rejects.toMatchObject({ code: 'EGRESS_TOO_LARGE' });
    await until('the request has ended', () => server.busyConnections === 0);
  });

  it('S2.2 rejects a list of tools that never ends', async () => {
    server.tools = Array.from({ length: 100 }, (_, index) => ({ name: `tool-${index}` }));
    await expect(client().listTools()).rejects.toMatchObject({ code: 'MCP_ANSWER_UNREADABLE' });
  });

  it('S2.2 reports a server that dies during a call, and connects again when it is back', async () => {
    const one = client();
    await one.callTool(ECHO, {});
    server.intercept = answeredBy((response) => response.destroy());
    await expect(one.callTool(ECHO, {})).rejects.toMatchObject({ code: 'MCP_SERVER_UNREACHABLE', retryable: true });
    await expect(one.callTool(ECHO, {})).rejects.toMatchObject({ code: 'MCP_SERVER_UNREACHABLE' });
    server.intercept = () => false;
    server.forgetSessions();
    expect(await one.callTool(ECHO, { n: 1 })).toMatchObject({ text: '{"n":1}' });
  });

  it('S2.2 continues after the server has restarted', async () => {
    const one = client();
    await one.callTool(ECHO, {});
    server.forgetSessions();
    expect(await one.callTool(ECHO, { n: 2 })).toMatchObject({ text: '{"n":2}' });
  });

  it('S2.2 waits for a server that starts slowly, and reports a server that exceeds the time limit', async () => {
    const gate = Promise.withResolvers<void>();
    server.intercept = (_request, response) => {
      void gate.promise.then(() => response.writeHead(503).end());
      return true;
    };
    await expect(client({ startTimeoutMs: 200 }).listTools()).rejects.toMatchObject({
      code: expect.stringMatching(/^MCP_(TIMED_OUT|SERVER_UNREACHABLE)$/) as string,
    });
    gate.resolve();
    const start = Promise.withResolvers<boolean>();
    server.intercept = async () => await start.promise;
    const seen = server.requests.length;
    const tools = client().listTools();
    await until('the client has called', () => server.requests.length > seen);
    start.resolve(false);
    await expect(tools).resolves.toHaveLength(1);
  });

  it('S2.2 sends a static key to the server only, and removes it from everything the server returns', async () => {
    answering((input) => `your key is ${TOKEN} and ${Buffer.from(TOKEN).toString('base64')} ${JSON.stringify(input)}`);
    server.tools[0].description = `Knows ${TOKEN}.`;
    const one = client({ credential: { env: 'MCP_TOKEN' } });
    expect((await one.listTools())[0]?.description).toBe('Knows [secret].');
    expect((await one.callTool(ECHO, {})).text).not.toMatch(/static-token|c3RhdGlj/);
    expect(new Set(server.requests.map(({ headers }) => headers.authorization))).toEqual(new Set([`Bearer ${TOKEN}`]));
  });

  it.each([401, 403])('S2.2 reports a server that refuses the credential with %d', async (status) => {
    server.intercept = answeredBy((response) => response.writeHead(status).end(`not ${TOKEN}`));
    const call = client({ credential: { env: 'MCP_TOKEN' } }).listTools();
    await expect(call).rejects.toMatchObject({ code: 'MCP_CREDENTIAL_REFUSED', status });
    await expect(call).rejects.toMatchObject({ message: expect.not.stringContaining(TOKEN) as string });
  });

  it('S2.2 does not follow a redirect, so the key stays at its origin', async () => {
    const other = await LocalServer.start((_request, response) => response.end());
    server.intercept = answeredBy((response) => response.writeHead(307, { location: `${other.url}/mcp` }).end());
    await expect(client({ credential: { env: 'MCP_TOKEN' } }).listTools()).rejects.toMatchObject({
      code: 'EGRESS_REDIRECTED',
    });
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it('S2.2 does not call a loopback address that the egress policy denies', async () => {
    const guarded = new EgressClient({ policy: new EgressPolicy() });
    await expect(clientOf({ url: server.url }, guarded).listTools()).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
    await guarded.close();
    expect(server.requests).toEqual([]);
  });

  it('S2.2 reports an answer that does not follow the protocol', async () => {
    const one = client();
    await one.listTools();
    server.intercept = answeredBy((response) => response.writeHead(200).end('<html>'));
    await expect(one.callTool(ECHO, {})).rejects.toMatchObject({ code: 'MCP_ANSWER_UNREADABLE' });
  });

  it('S2.2 ends its session and rejects further calls when it is closed', async () => {
    const one = client();
    await one.callTool(ECHO, {});
    await one.close();
    expect(server.openSessions).toBe(0);
    await expect(one.callTool(ECHO, {})).rejects.toMatchObject({ code: 'MCP_SERVER_UNREACHABLE', retryable: false });
  });

  it('S2.2 ends calls in progress when it is closed', async () => {
    answering(async () => await new Promise(() => undefined));
    const one = client();
    const call = one.callTool(ECHO, {}).catch((error: unknown) => error);
    await until('the call has begun', () => server.calls.length === 1);
    await one.close();
    expect(await call).toMatchObject({ code: 'MCP_SERVER_UNREACHABLE' });
  });
});

describe('a client with client credentials', () => {
  let server: FakeMcpServer;
  let tokens: LocalServer;
  let issued = 0;
  let valid = 'token-1';
  let status = 200;
  beforeEach(async () => {
    [issued, valid, status] = [0, 'token-1-0123456789', 200];
    server = await FakeMcpServer.start('2026');
    server.intercept = ({ headers }, response) => {
      const isValid = headers.authorization === `Bearer ${valid}`;
      if (!isValid) response.writeHead(401).end();
      return !isValid;
    };
    tokens = await LocalServer.start((_request, response) => {
      issued += 1;
      response
        .writeHead(status)
        .end(JSON.stringify({ access_token: `token-${issued}-0123456789`, token_type: 'Bearer' }));
    });
  });
  afterEach(async () => {
    await server.close();
    await tokens.close();
  });
  const client = (): McpClient => {
    const keys = { clientIdEnv: 'CLIENT_ID', clientSecretEnv: 'CLIENT_SECRET', scope: 'tools' };
    return clientOf({ url: server.url, clientCredentials: { tokenUrl: `${tokens.url}/token`, ...keys } });
  };

  it('S2.2 requests one token for its server and uses it for all calls', async () => {
    const one = client();
    await Promise.all([one.callTool(ECHO, {}), one.callTool(ECHO, {}), one.listTools()]);
    expect(issued).toBe(1);
    const { headers, body } = tokens.requests[0];
    expect(Object.fromEntries(new URLSearchParams(String(body)))).toEqual({
      grant_type: 'client_credentials',
      resource: server.url,
      scope: 'tools',
    });
    expect(headers.authorization).toBe(`Basic ${Buffer.from('rollcall:client-secret-0123').toString('base64')}`);
  });

  it('S2.2 requests a new token when the server refuses the current token', async () => {
    const one = client();
    await one.callTool(ECHO, {});
    valid = 'token-2-0123456789';
    expect(await one.callTool(ECHO, {})).toMatchObject({ isError: false });
    expect(issued).toBe(2);
  });

  it('S2.2 retries once with a new token, and then reports that the server refuses the credential', async () => {
    valid = 'another';
    await expect(client().listTools()).rejects.toMatchObject({ code: 'MCP_CREDENTIAL_REFUSED' });
    expect(issued).toBe(2);
  });

  it('S2.2 reports client credentials that the token URL refuses', async () => {
    status = 401;
    await expect(client().listTools()).rejects.toMatchObject({ code: 'MCP_CREDENTIAL_REFUSED', status: 401 });
    expect(server.requests).toEqual([]);
  });
});

describe('the configuration of an MCP server', () => {
  it.each([
    ['a key that is not set', { url: 'http://127.0.0.1:9/mcp', credential: { env: 'NOT_SET' } }],
    ['a program that the operator does not allow', { program: 'unknown' }],
  ])('S2.2 a configuration with %s is reported when it is used', async (_name, config) => {
    await expect(clientOf(config).listTools()).rejects.toMatchObject({ code: 'MCP_SETTINGS_INVALID' });
  });

  it.each([
    ['a double underscore in its name', { a__b: { program: 'x' } }],
    ['another protocol', { a: { url: 'ftp://example.com' } }],
    ['a command', { a: { command: '/bin/sh' } }],
    ['two credentials', { a: { url: 'https://x.example', credential: { env: 'A' }, clientCredentials: {} } }],
  ])('S2.2 a configuration with %s is rejected', (_name, servers) => {
    expect(McpServersSchema.safeParse(servers).success).toBe(false);
  });
});
