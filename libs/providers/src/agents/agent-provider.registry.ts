import { NamedRegistry } from '../named.registry.js';
import type { AgentProvider } from './agent.provider.js';

/** The kinds of agents that can be made. It knows none of them: each is registered by whoever wires the application. */
export class AgentProviderRegistry extends NamedRegistry<AgentProvider> {
  constructor() {
    super({ noun: 'agent provider', unknown: 'AGENT_PROVIDER_UNKNOWN', taken: 'AGENT_PROVIDER_TAKEN' });
  }
}
