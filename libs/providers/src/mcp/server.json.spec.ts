import { McpServersSchema } from './mcp.config.js';
import { readServerJson, type ServerFault, type ServerProposal } from './server.json.js';

const server = (overrides: object = {}): Record<string, unknown> => ({
  $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: 'com.example/Weather.data',
  description: 'Weather.',
  version: '1.0.0',
  remotes: [{ type: 'streamable-http', url: 'https://mcp.example.com/mcp' }],
  ...overrides,
});
const remote = (overrides: object): object => ({
  remotes: [
    { type: 'sse', url: 'https://x' },
    { type: 'streamable-http', url: 'https://mcp.example.com/mcp', ...overrides },
  ],
});
const fields = (document: unknown, name?: string): string[] =>
  (readServerJson(document, name) as ServerFault[]).map(({ field }) => field);

describe('a server.json as settings', () => {
  it('the settings contain the URL of the server, and an operator must accept new tools', () => {
    const expected = {
      name: 'weather-data',
      config: { url: 'https://mcp.example.com/mcp', requireAcceptance: true },
      secrets: [],
    };
    expect(readServerJson(server())).toEqual(expected);
    expect(readServerJson({ server: server(), _meta: {} })).toEqual(expected);
    expect(readServerJson(server(), 'mine')).toMatchObject({ name: 'mine' });
  });

  it('the settings name an environment variable for the key of the server', () => {
    const headers = [
      { name: 'X-Trace', value: 'a' },
      { name: 'Authorization', description: 'The key.', isRequired: true, isSecret: true, value: 'Token {key}' },
    ];
    expect(readServerJson(server(remote({ headers })))).toMatchObject({
      config: { credential: { env: 'MCP_WEATHER_DATA_KEY', header: 'authorization', scheme: 'Token' } },
      secrets: [{ env: 'MCP_WEATHER_DATA_KEY', description: 'The key.' }],
    });
    const plain = readServerJson(
      server(remote({ headers: [{ name: 'X-Api-Key', isSecret: true }] })),
    ) as ServerProposal;
    expect(plain.config.credential).toEqual({ env: 'MCP_WEATHER_DATA_KEY', header: 'x-api-key', scheme: '' });
    expect(McpServersSchema.safeParse({ [plain.name]: plain.config }).success).toBe(true);
  });

  it('variables in the URL are replaced by their encoded values', () => {
    const url = 'https://mcp.example.com/{tenant}/{region}';
    const variables = { tenant: { value: 'a/b' }, region: { default: 'eu' } };
    expect(readServerJson(server(remote({ url, variables })))).toMatchObject({
      config: { url: 'https://mcp.example.com/a%2Fb/eu' },
    });
    expect(fields(server(remote({ url })))).toEqual(['remotes.1.url', 'remotes.1.url']);
  });

  it.each<[name: string, document: unknown, fields: string[]]>([
    ['null', null, ['']],
    ['a list', [], ['']],
    ['no fields', {}, ['name', 'description', 'version']],
    ['a name without a domain', server({ name: 'weather' }), ['name']],
    ['a name that cannot be a setting', server({ name: 'com.example/...' }), ['name']],
    ['only packages', server({ remotes: [], packages: [{}] }), ['remotes']],
    ['a file URL', server(remote({ url: 'file:///etc/passwd' })), ['remotes.1.url']],
    ['a javascript URL', server(remote({ url: 'javascript:1' })), ['remotes.1.url']],
    [
      'two keys and a required header',
      server(
        remote({
          headers: [
            { name: 'a', isSecret: true },
            { name: 'b', isSecret: true },
            { name: 'c', value: 'd', isRequired: true },
          ],
        }),
      ),
      ['remotes.1.headers', 'remotes.1.headers'],
    ],
    [
      'a key in a reserved header',
      server(remote({ headers: [{ name: 'Host', isSecret: true }] })),
      ['remotes.1.headers'],
    ],
    [
      'a variable with the name of a built-in property',
      server(remote({ url: 'https://x/{toString}' })),
      ['remotes.1.url'],
    ],
  ])('%s is rejected, and all faults are reported', (_name, document, expected) => {
    expect(fields(document)).toEqual(expected);
  });
});
