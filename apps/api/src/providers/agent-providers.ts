import {
  A2aAgentProvider,
  AgentProviderRegistry,
  ClaudeSdkAgentProvider,
  type EgressClient,
  type EgressPolicy,
  HttpAgentProvider,
  SubprocessAgentProvider,
} from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';
import type { Keyring } from './keyring.js';

/**
 * The kinds of agents this product can make of others. One more is registered here; `native`, which is our own loop, is
 * registered by the runtime's module when it starts.
 */
export function agentProviders(
  { providers }: Config,
  keys: Keyring,
  policy: EgressPolicy,
  { fetch }: EgressClient,
): AgentProviderRegistry {
  const outbound = { fetch, policy, secrets: keys.forAgents };
  const { tools: allowedTools, folder: cwd, env } = providers.claude;
  return new AgentProviderRegistry()
    .register(new A2aAgentProvider(outbound))
    .register(new HttpAgentProvider(outbound))
    .register(new SubprocessAgentProvider({ programs: providers.programs, secrets: keys.forPrograms }))
    .register(new ClaudeSdkAgentProvider({ secrets: keys.forClaude, allowedTools, cwd, env }));
}
