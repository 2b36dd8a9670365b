import type { Program } from '../agents/subprocess/program.process.js';
import type { AllowedProgram } from '../agents/subprocess/subprocess.agent-provider.js';
import { ProviderError } from '../errors.js';
import { redactAll, type Secret, type SecretSource } from '../secrets/secret.js';
import { scopedFetch } from './call.scope.js';
import { McpClient, type McpLink } from './mcp.client.js';
import type { McpHttpServer, McpServerConfig } from './mcp.config.js';
import { type AuthorizedFetch, authorizedFetch, mcpKey } from './mcp.credential.js';

/** A stream that breaks is not resumed: its call fails. */
const NO_RECONNECTION = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1,
  maxRetries: 0,
};

interface McpClientsOptions {
  servers: Readonly<Record<string, McpServerConfig>>;
  programs: Readonly<Record<string, AllowedProgram>>;
  /** The `fetch` of the egress client. */
  fetch: typeof fetch;
  secretsOf(config: McpServerConfig): SecretSource;
}

/** The clients of all MCP servers that the operator configured. The SDK is large, so it is loaded when a client connects. */
export class McpClients {
  readonly all: readonly McpClient[];

  constructor(private readonly options: McpClientsOptions) {
    this.all = Object.entries(options.servers).map(
      ([name, config]) =>
        new McpClient(name, config, 'url' in config ? this.httpLink(config) : this.programLink(name, config)),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(async (client) => await client.close()));
  }

  private httpLink(config: McpHttpServer): McpLink {
    const { fetch, secretsOf } = this.options;
    let authorized: AuthorizedFetch | undefined;
    return {
      isProgram: false,
      createTransport: async () => {
        const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
        authorized ??= authorizedFetch(config, fetch, secretsOf(config));
        const options = { fetch: scopedFetch(authorized.fetch), reconnectionOptions: NO_RECONNECTION };
        return new StreamableHTTPClientTransport(new URL(config.url), options);
      },
      redact: (text) => redactAll(text, authorized?.secrets() ?? []),
    };
  }

  private programLink(name: string, config: Extract<McpServerConfig, { program: string }>): McpLink {
    const secrets = this.options.secretsOf(config);
    let keys: Record<string, Secret> = {};
    return {
      isProgram: true,
      createTransport: async () => {
        const { ProgramTransport } = await import('./program.transport.js');
        const { secretEnv = [], namespaces: _namespaces, ...program } = this.allowed(config.program);
        keys = Object.fromEntries(secretEnv.map((env) => [env, mcpKey(env, secrets)]));
        return new ProgramTransport({ ...program, keys } satisfies Program, `MCP server ${name}`);
      },
      redact: (text) => redactAll(text, Object.values(keys)),
    };
  }

  private allowed(program: string): AllowedProgram {
    const { programs } = this.options;
    const allowed = Object.hasOwn(programs, program) ? programs[program] : undefined;
    if (allowed) return allowed;
    const message = `There is no program ${program} in the setting providers.programs.`;
    throw new ProviderError('MCP_SETTINGS_INVALID', message);
  }
}
