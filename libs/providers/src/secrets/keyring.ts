import type { McpServerConfig } from '../mcp/mcp.config.js';
import { KEYED_VENDORS, type ModelsConfig, PresetCatalog } from '../presets/preset.catalog.js';
import type { AgentProviderOptions, ProvidersOptions } from '../providers.options.js';
import { redactAll, type Secret, type SecretSource } from './secret.js';

const CLAUDE_KEY = 'ANTHROPIC_API_KEY';

/**
 * Decides which key of the environment may be used for which purpose. Definitions come from many users and can name any
 * key, so a key is returned only for the purpose and the address that the operator has configured.
 */
export class Keyring {
  private readonly find: SecretSource;
  private readonly agents: AgentProviderOptions;
  private readonly modelKeys: ReadonlySet<string>;
  /** The names of all variables that may contain a key. */
  readonly all: ReadonlySet<string>;

  constructor(options: Pick<ProvidersOptions, 'secrets' | 'agents' | 'models' | 'mcpServers'>) {
    const { secrets, agents, models, mcpServers = {} } = options;
    this.find = secrets;
    this.agents = agents;
    this.modelKeys = keysOf(models);
    const programKeys = Object.values(agents.programs).flatMap(({ secretEnv = [] }) => secretEnv);
    const mcpKeys = Object.values(mcpServers).flatMap(keysOfServer);
    this.all = new Set([CLAUDE_KEY, ...this.modelKeys, ...Object.keys(agents.credentials), ...programKeys, ...mcpKeys]);
  }

  /** Removes all keys that the operator has configured, whatever their purpose, from a text for a model. */
  readonly redact = (text: string): string =>
    redactAll(
      text,
      [...this.all].map((name) => this.find(name)),
    );

  readonly forModels: SecretSource = (name) => (this.modelKeys.has(name) ? this.find(name) : undefined);

  /** For remote agents: the keys of `credentials`, each for its own origins. */
  readonly forAgents: SecretSource = (name, origin): Secret | undefined => {
    const { credentials } = this.agents;
    const origins = Object.hasOwn(credentials, name) ? (credentials[name] ?? []) : [];
    return origin !== undefined && origins.includes(origin) ? this.find(name) : undefined;
  };

  /** The name of the key that the operator allows for this origin; the first one in alphabetical order if there are several. */
  credentialFor(origin: string): string | undefined {
    const { credentials } = this.agents;
    const names = Object.keys(credentials).filter((name) => credentials[name]?.includes(origin));
    return names.toSorted()[0];
  }

  readonly forPrograms: SecretSource = (name) => {
    const programs = Object.values(this.agents.programs);
    return programs.some(({ secretEnv = [] }) => secretEnv.includes(name)) ? this.find(name) : undefined;
  };

  /** For one MCP server: the keys that its configuration names, each for its own origin, or the keys of its program. */
  forMcp(config: McpServerConfig): SecretSource {
    if ('program' in config) return this.forPrograms;
    const { url, credential, clientCredentials: client } = config;
    const origins = new Map<string, string>();
    if (credential) origins.set(credential.env, new URL(url).origin);
    for (const env of client ? [client.clientIdEnv, client.clientSecretEnv] : [])
      origins.set(env, new URL(client!.tokenUrl).origin);
    return (name, origin) => (origin !== undefined && origins.get(name) === origin ? this.find(name) : undefined);
  }

  readonly forClaude: SecretSource = (name) => (name === CLAUDE_KEY ? this.find(name) : undefined);
}

/** Returns the names of the variables that presets and vendors use. */
function keysOf(models: ModelsConfig): Set<string> {
  const presets = new PresetCatalog(models);
  const vendors = [...KEYED_VENDORS, ...Object.keys(models.vendors ?? {})];
  const connections = [...presets.list(), ...vendors.map((vendor) => presets.connectionOf(vendor))];
  return new Set(connections.flatMap(({ keyEnv = [] }) => keyEnv));
}

/** The keys of a program are configured with the program. */
function keysOfServer(config: McpServerConfig): string[] {
  if ('program' in config) return [];
  const { credential, clientCredentials: client } = config;
  return [...(credential ? [credential.env] : []), ...(client ? [client.clientIdEnv, client.clientSecretEnv] : [])];
}
