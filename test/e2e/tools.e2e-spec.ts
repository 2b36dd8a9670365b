import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { CatalogHost } from '../support/catalog-host.js';

interface Tools {
  items: { name: string; toolbox: string; enabled: boolean; idempotent: boolean; inputSchema: { type: string } }[];
}

async function toolsOf(api: TestApi): Promise<Tools['items']> {
  return (await api.call<Tools & Record<string, unknown>>('GET', '/v1/tools')).body.items;
}

describe('GET /v1/tools', () => {
  let api: TestApi;
  beforeAll(async () => void (api = await startApi()));
  afterAll(async () => await api.stop());

  it('S2.2 lists the built-in tools with their schemas, and whether agents may use them', async () => {
    const items = await toolsOf(api);
    expect(items.map(({ name, toolbox, enabled }) => [name, toolbox, enabled])).toEqual([
      ['clock', 'clock', true],
      ['find_agents', 'find_agents', true],
      ['remember', 'memory', true],
      ['recall', 'memory', true],
      ['http_fetch', 'http_fetch', false],
      ['read_file', 'workspace', false],
      ['write_file', 'workspace', false],
      ['edit_file', 'workspace', false],
      ['list_files', 'workspace', false],
      ['search_files', 'workspace', false],
      ['todo_write', 'workspace', false],
      ['bash', 'bash', false],
    ]);
    expect(items.every(({ inputSchema }) => inputSchema.type === 'object')).toBe(true);
    expect(items[0]).toMatchObject({ idempotent: true, needsApproval: false });
  });

  it('S2.2 is not permitted for agents and callers', async () => {
    for (const role of ['agent', 'caller'] as const) {
      const answer = await api.call('GET', '/v1/tools', { key: await api.given.key(role) });
      expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    }
  });
});

describe('the settings of tools', () => {
  it('S4.4 turn toolboxes on and off', async () => {
    const api = await startApi({ ROLLCALL_TOOLS_OFF: 'memory,clock', ROLLCALL_TOOLS_HTTP_FETCH: 'read' });
    const enabled = (await toolsOf(api)).filter((tool) => tool.enabled);
    await api.stop();
    expect(enabled.map(({ name, idempotent }) => [name, idempotent])).toEqual([
      ['find_agents', true],
      ['http_fetch', true],
    ]);
  });
});

describe('POST /v1/toolbox-imports', () => {
  let api: TestApi;
  beforeAll(async () => void (api = await startApi({ ROLLCALL_EGRESS_ALLOW: '127.0.0.1' })));
  afterAll(async () => await api.stop());

  const server = (url: string): object => ({
    name: 'com.example/weather',
    description: 'Weather.',
    version: '1.0.0',
    remotes: [
      { type: 'streamable-http', url, headers: [{ name: 'X-Api-Key', description: 'The key.', isSecret: true }] },
    ],
  });
  const run = async (body: object): Promise<Answer> => await api.call('POST', '/v1/toolbox-imports', { body });

  it('S3.12 converts a server.json to settings, from the body or from a URL of the registry API', async () => {
    const host = await CatalogHost.start();
    const document = server(`${host.url}/mcp`);
    const serverUrl = host.serve('/v0.1/servers/com.example%2Fweather/versions/latest', {
      server: document,
      _meta: {},
    });
    const credential = { env: 'MCP_WEATHER_KEY', header: 'x-api-key', scheme: '' };
    const config = { url: `${host.url}/mcp`, credential, requireAcceptance: true };
    for (const body of [{ server: document }, { serverUrl }]) {
      expect(await run(body)).toMatchObject({
        status: 200,
        body: {
          name: 'weather',
          config,
          setting: JSON.stringify({ weather: config }),
          secrets: [{ env: 'MCP_WEATHER_KEY', description: 'The key.' }],
        },
      });
    }
    await host.stop();
  });

  it.each<[body: object, code: string]>([
    [{}, 'VALIDATION_FAILED'],
    [{ server: {} }, 'VALIDATION_FAILED'],
    [{ server: server('file:///etc/passwd') }, 'VALIDATION_FAILED'],
    [{ server: server('http://169.254.169.254/mcp') }, 'EGRESS_DENIED'],
    [{ serverUrl: 'http://169.254.169.254/server.json' }, 'EGRESS_DENIED'],
    [{ server: server('https://1.1.1.1/mcp'), name: '..' }, 'VALIDATION_FAILED'],
  ])('%j is rejected with %s', async (body, code) => {
    expect(await run(body)).toMatchObject({ status: 400, body: { code } });
  });
});
