import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { McpServersSchema } from '#rollcall/providers';
import { FAKE_MCP_PROGRAM, FakeMcpServer } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';

interface Pins {
  items: { server: string; tool: string; state: string; hash: string; acceptedBy: string | null }[];
  servers: { server: string; state: string; tools: number; error: string | null }[];
}

const DOCS = readFileSync(new URL('../../docs/runtime/mcp.md', import.meta.url), 'utf8');
const KEY = 'docs-token-0123456789';

let server: FakeMcpServer;
let api: TestApi;

/** The example of docs/runtime/mcp.md, with the address of a real server and the path of a real program. */
function environmentOf(example: { providers: { programs: Record<string, object> }; runtime: { mcpServers: object } }) {
  const { programs } = example.providers;
  const files = { ...programs['files'], command: process.execPath, args: [FAKE_MCP_PROGRAM, 'modern'], user: 'same' };
  const servers = JSON.stringify(example.runtime.mcpServers).replace('https://docs.example/mcp', server.url);
  return {
    ROLLCALL_PROGRAMS: JSON.stringify({ ...programs, files }),
    ROLLCALL_MCP_SERVERS: servers,
    ROLLCALL_EGRESS_ALLOW: '127.0.0.0/8',
    DOCS_TOKEN: KEY,
    FILES_KEY: 'files-key-0123456789',
  };
}

beforeAll(async () => {
  server = await FakeMcpServer.start('2026');
  server.tools = [{ name: 'search', description: 'Searches.' }];
  const example = parse(/```yaml\n([\s\S]*?)```/.exec(DOCS)?.[1] ?? '') as Parameters<typeof environmentOf>[0];
  expect(McpServersSchema.safeParse(example.runtime.mcpServers).success).toBe(true);
  api = await startApi(environmentOf(example));
});
afterAll(async () => {
  await api.stop();
  await server.close();
});

const pins = async (): Promise<Pins> => (await api.call<Pins>('GET', '/v1/tools/pins')).body;
const pinOf = async (tool: string) => (await pins()).items.find((item) => item.tool === tool);
const toolNames = async (): Promise<string[]> => {
  const { body } = await api.call<{ items: { name: string; toolbox: string }[] }>('GET', '/v1/tools');
  return body.items.filter(({ toolbox }) => toolbox.startsWith('mcp__')).map(({ name }) => name);
};
const accept = async (path: string, hash = '0'.repeat(64), key?: string) =>
  await api.call('POST', `/v1/tools/pins/${path}/accept`, { body: { hash }, ...(key !== undefined && { key }) });

describe('the MCP servers of docs/runtime/mcp.md', () => {
  it('S2.2 are connected in the background; their accepted tools are listed', async () => {
    await until('both servers are ready', async () => (await pins()).servers.every(({ state }) => state === 'ready'));
    expect(await toolNames()).toEqual(['mcp__docs__search']);
    expect((await pins()).servers).toMatchObject([
      { server: 'docs', tools: 1, error: null },
      { server: 'files', tools: 0 },
    ]);
    expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${KEY}`)).toBe(true);
  });

  it('S2.2 with requireAcceptance, an operator accepts a tool by its hash, and the audit log records it', async () => {
    const { hash, state } = (await pinOf('echo'))!;
    expect(state).toBe('waiting');
    expect(await accept('files/echo')).toMatchObject({ status: 409, body: { code: 'TOOL_PIN_CHANGED' } });
    expect(await accept('files/nothing')).toMatchObject({ status: 404, body: { code: 'TOOL_PIN_NOT_FOUND' } });
    expect(await accept('files/echo', 'abc')).toMatchObject({ status: 400 });
    expect(await accept('files/echo', hash)).toMatchObject({ status: 200, body: { state: 'accepted' } });
    await until('the tool is offered', async () => (await toolNames()).includes('mcp__files__echo'));
    const { body } = await api.call<{ items: { action: string }[] }>('GET', '/v1/audit');
    expect(body.items.map(({ action }) => action)).toContain('tool.accepted');
  });

  it('S2.2 a viewer and an operator of one namespace cannot accept a tool', async () => {
    const { hash } = (await pinOf('pid'))!;
    for (const key of [await api.issueKeyIn('*', 'viewer'), await api.issueKeyIn('default', 'operator')])
      expect(await accept('files/pid', hash, key)).toMatchObject({ status: 403 });
    expect(await pinOf('pid')).toMatchObject({ state: 'waiting' });
  });
});
