import { NamedRegistry } from '../named.registry.js';
import type { AgentProvider } from './agent.provider.js';

/** The agent providers by name. This class does not depend on concrete providers: `agent-providers.ts` registers them. */
export class AgentProviderRegistry extends NamedRegistry<AgentProvider> {
  constructor() {
    super({ noun: 'agent provider', unknownCode: 'AGENT_PROVIDER_UNKNOWN', takenCode: 'AGENT_PROVIDER_TAKEN' });
  }
}
