import type { Agent } from './agent.js';
import { type AgentConfig, type AgentProvider, AgentProviderRegistry } from './agent.provider.js';

class FailingProvider implements AgentProvider {
  readonly agentType = 'in-process';

  constructor(readonly name: string) {}

  async createAgent(config: AgentConfig): Promise<Agent> {
    throw new TypeError(`cannot create ${config.name}`);
  }
}

describe('the registry of agent providers', () => {
  it('S1.1 finds a provider by name, and lists the known names if the name is unknown', () => {
    const registry = new AgentProviderRegistry().register(new FailingProvider('b')).register(new FailingProvider('a'));
    expect(registry.get('a').name).toBe('a');
    expect(() => registry.get('c')).toThrow('There is no agent provider named c. Known: a, b.');
    expect(() => new AgentProviderRegistry().get('c')).toThrow(/none yet/);
  });

  it('S1.1 rejects a provider with AGENT_PROVIDER_TAKEN if its name is already registered', () => {
    const registry = new AgentProviderRegistry().register(new FailingProvider('a'));
    expect(() => registry.register(new FailingProvider('a'))).toThrow(
      expect.objectContaining({ code: 'AGENT_PROVIDER_TAKEN' }),
    );
  });

  it('S1.1 passes on the errors of a provider unchanged', async () => {
    const registry = new AgentProviderRegistry().register(new FailingProvider('a'));
    await expect(registry.get('a').createAgent({ name: 'ada' })).rejects.toThrow(new TypeError('cannot create ada'));
  });

  it('S1.7 lists the registered providers by name, and is empty at first', () => {
    expect(new AgentProviderRegistry().list()).toEqual([]);
    const registry = new AgentProviderRegistry().register(new FailingProvider('b')).register(new FailingProvider('a'));
    expect(registry.list().map(({ name }) => name)).toEqual(['a', 'b']);
    expect([registry.has('a'), registry.has('A')]).toEqual([true, false]);
  });

  it('S1.7 does not share its providers with another registry', () => {
    new AgentProviderRegistry().register(new FailingProvider('a'));
    expect(new AgentProviderRegistry().has('a')).toBe(false);
  });
});
