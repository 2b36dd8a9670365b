import type { EgressClient } from '../egress/egress.client.js';
import type { EgressPolicy } from '../egress/egress.policy.js';
import type { Keyring } from '../keyring.js';
import type { AgentProviderOptions } from '../providers.options.js';
import { A2aAgentProvider } from './a2a/a2a.agent-provider.js';
import { AgentProviderRegistry } from './agent-provider.registry.js';
import { ClaudeSdkAgentProvider } from './claude-sdk/claude-sdk.agent-provider.js';
import { HttpAgentProvider } from './http/http.agent-provider.js';
import { SubprocessAgentProvider } from './subprocess/subprocess.agent-provider.js';

/** Creates all agent providers of this library. Register a new provider here. */
export function agentProviders(
  { programs, claude }: AgentProviderOptions,
  keys: Keyring,
  policy: EgressPolicy,
  { fetch }: EgressClient,
): AgentProviderRegistry {
  const outbound = { fetch, policy, secrets: keys.forAgents };
  const { tools: allowedTools, folder: cwd, env } = claude;
  return new AgentProviderRegistry()
    .register(new A2aAgentProvider(outbound))
    .register(new HttpAgentProvider(outbound))
    .register(new SubprocessAgentProvider({ programs, secrets: keys.forPrograms }))
    .register(new ClaudeSdkAgentProvider({ secrets: keys.forClaude, allowedTools, cwd, env }));
}
