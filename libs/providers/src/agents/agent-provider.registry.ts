import { NamedRegistry } from '../named.registry.js';
import type { AgentProvider } from './agent.provider.js';

/** The agent providers by name. This class does not depend on concrete providers: `agent-providers.ts` registers them. */
export class AgentProviderRegistry extends NamedRegistry<AgentProvider> {
  constructor() {
    super({ noun: 'agent provider', unknown: 'AGENT_PROVIDER_UNKNOWN', taken: 'AGENT_PROVIDER_TAKEN' });
  }
}
