import { McpServersSchema } from '../mcp/mcp.config.js';
import { Keyring } from './keyring.js';
import { Secret } from './secret.js';

const NAMES = ['ANTHROPIC_API_KEY', 'OWN_KEY', 'AGENT_KEY', 'PROGRAM_KEY', 'MCP_KEY', 'CLIENT_ID', 'CLIENT_SECRET'];
const ORIGIN = 'https://agents.example';

function keyring(names = NAMES): Keyring {
  return new Keyring({
    secrets: (name) => (names.includes(name) ? new Secret(`value of ${name}`) : undefined),
    models: { default: 'own', presets: { own: { vendor: 'openai-compatible', model: 'm', keyEnv: 'OWN_KEY' } } },
    agents: {
      programs: { files: { command: '/bin/true', secretEnv: ['PROGRAM_KEY'] } },
      credentials: { AGENT_KEY: [ORIGIN] },
      claude: {},
    },
    mcpServers: McpServersSchema.parse({
      docs: { url: 'https://docs.example/mcp', credential: { env: 'MCP_KEY' } },
      files: { program: 'files' },
      more: {
        url: 'https://more.example/mcp',
        clientCredentials: {
          tokenUrl: 'https://more.example/token',
          clientIdEnv: 'CLIENT_ID',
          clientSecretEnv: 'CLIENT_SECRET',
        },
      },
    }),
  });
}

describe('Keyring', () => {
  it.each(NAMES)('redacts %s in a text', (name) => {
    const encoded = Buffer.from(`value of ${name}`).toString('base64url');
    expect(keyring().redact(`It sent value of ${name} (${encoded}).`)).toBe('It sent [secret] ([secret]).');
  });

  it('does not change a text without a key, and ignores keys that are not set', () => {
    expect(keyring([]).redact('It sent value of OWN_KEY.')).toBe('It sent value of OWN_KEY.');
    expect(keyring().redact('Nothing.')).toBe('Nothing.');
  });

  it('returns the key of an agent only for the configured origins', () => {
    expect(keyring().forAgents('AGENT_KEY', ORIGIN)?.reveal()).toBe('value of AGENT_KEY');
    expect(keyring().forAgents('AGENT_KEY', 'https://other.example')).toBeUndefined();
    expect(keyring().forModels('AGENT_KEY')).toBeUndefined();
  });
});
