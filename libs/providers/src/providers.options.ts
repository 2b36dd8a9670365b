import type { AgentProvider } from './agents/agent.provider.js';
import type { ProgramUser } from './agents/subprocess/program.user.js';
import type { AllowedProgram } from './agents/subprocess/subprocess.agent-provider.js';
import type { EgressRules } from './egress/egress.policy.js';
import type { McpServerConfig } from './mcp/mcp.config.js';
import type { ModelVendor } from './models/model.vendor.js';
import type { NamespaceRestriction } from './namespace.restriction.js';
import type { ModelsConfig } from './presets/preset.catalog.js';
import type { PriceList } from './presets/price.list.js';
import type { SecretSource } from './secrets/secret.js';

export interface ProvidersOptions {
  egress: EgressRules;
  /** The time limit for checking all endpoints of one request. */
  checkTimeoutMs?: number;
  models: ModelsConfig;
  /** Prices of models for presets and definitions that state none. */
  prices?: PriceList;
  agents: AgentProviderOptions;
  /** MCP servers by name. A server that is a program names one of `agents.programs`. */
  mcpServers?: Record<string, McpServerConfig>;
  /** More vendors, by the name that presets use. */
  vendors?: readonly ModelVendor[];
  /** More agent providers, by the name that definitions use. */
  agentProviders?: readonly AgentProvider[];
  /** Finds any key of the environment; the keyring decides what each key may be used for. */
  secrets: SecretSource;
}

/** What the operator allows the agents of agent providers to use. */
export interface AgentProviderOptions {
  /** Programs that `subprocess` agents may run, by name. */
  programs: Record<string, AllowedProgram>;
  /** Keys that may be sent to remote agents, each with the origins it may be sent to. */
  credentials: Record<string, string[]>;
  claude: ClaudeOptions;
}

/** What agents that run the loop of Claude Code may use. `namespaces` restricts the tools. */
interface ClaudeOptions extends NamespaceRestriction {
  tools?: string[];
  folder?: string;
  /** Required if Rollcall runs as root, as for other programs. */
  user?: ProgramUser;
  env?: Record<string, string>;
}
