import type { Agent } from './agent.js';
import { AgentProviderRegistry } from './agent-provider.registry.js';
import type { AgentConfig, AgentProvider } from './agent.provider.js';

class FailingProvider implements AgentProvider {
  readonly agentType = 'in-process';

  constructor(readonly name: string) {}

  async createAgent(config: AgentConfig): Promise<Agent> {
    throw new TypeError(`no ${config.name} today`);
  }
}

describe('the registry of agent providers', () => {
  it('S1.1 gives the provider of a name, and names the known ones when there is none', () => {
    const registry = new AgentProviderRegistry().register(new FailingProvider('b')).register(new FailingProvider('a'));
    expect(registry.get('a').name).toBe('a');
    expect(() => registry.get('c')).toThrow('There is no agent provider named c. Known: a, b.');
    expect(() => new AgentProviderRegistry().get('c')).toThrow(/none yet/);
  });

  it('S1.1 refuses a name that is taken, with its own code', () => {
    const registry = new AgentProviderRegistry().register(new FailingProvider('a'));
    expect(() => registry.register(new FailingProvider('a'))).toThrow(
      expect.objectContaining({ code: 'AGENT_PROVIDER_TAKEN' }),
    );
  });

  it('S1.1 leaves the errors of a provider as they are', async () => {
    const registry = new AgentProviderRegistry().register(new FailingProvider('a'));
    await expect(registry.get('a').createAgent({ name: 'ada' })).rejects.toThrow(new TypeError('no ada today'));
  });

  it('S1.7 lists what was registered by name, and knows nothing by itself', () => {
    expect(new AgentProviderRegistry().list()).toEqual([]);
    const registry = new AgentProviderRegistry().register(new FailingProvider('b')).register(new FailingProvider('a'));
    expect(registry.list().map(({ name }) => name)).toEqual(['a', 'b']);
    expect([registry.has('a'), registry.has('A')]).toEqual([true, false]);
  });

  it('S1.7 two registries share nothing', () => {
    new AgentProviderRegistry().register(new FailingProvider('a'));
    expect(new AgentProviderRegistry().has('a')).toBe(false);
  });
});
