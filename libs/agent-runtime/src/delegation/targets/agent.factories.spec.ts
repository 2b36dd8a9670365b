import { FakeAgent } from '../../testing/fake.agent.js';
import { AgentFactoryRegistry } from './agent.factories.js';

describe('S2.3 a registry of factories', () => {
  it('lists its factories sorted by name, without creating an agent', () => {
    const factory = (): never => {
      throw new Error('not now');
    };
    const registry = new AgentFactoryRegistry()
      .register('writer', 'Writes.', factory)
      .register('Editor', 'E.', factory);
    registry.register('checker', 'Checks.', factory);
    expect(registry.list()).toEqual([
      { name: 'Editor', description: 'E.' },
      { name: 'checker', description: 'Checks.' },
      { name: 'writer', description: 'Writes.' },
    ]);
  });

  it('creates a new agent for each spawn, and passes the depth to the factory', async () => {
    const depths: number[] = [];
    const registry = new AgentFactoryRegistry().register('writer', 'Writes.', async (depth) => {
      depths.push(depth);
      return new FakeAgent('writer');
    });
    expect(await registry.spawn('writer', 1)).not.toBe(await registry.spawn('writer', 2));
    expect(depths).toEqual([1, 2]);
  });

  it('rejects empty, duplicate and unknown names, each with its own code, and a factory that returns the same agent twice', async () => {
    const agent = new FakeAgent('one');
    const registry = new AgentFactoryRegistry().register('one', 'One.', () => agent);
    expect(() => registry.register(' ', 'Empty.', () => agent)).toThrow(
      expect.objectContaining({ code: 'AGENT_FACTORY_INVALID' }),
    );
    expect(() => registry.register('one', 'Again.', () => agent)).toThrow(
      expect.objectContaining({ code: 'AGENT_FACTORY_TAKEN' }),
    );
    const unknown = await registry.spawn('oen', 1).catch((error: unknown) => error);
    expect(unknown).toMatchObject({ code: 'AGENT_FACTORY_UNKNOWN', message: expect.stringContaining('one') });
    await registry.spawn('one', 1);
    await expect(registry.spawn('one', 1)).rejects.toMatchObject({ code: 'AGENT_FACTORY_INVALID' });
  });

  it('rethrows the error of a factory unchanged', async () => {
    const fault = new Error('no model');
    const registry = new AgentFactoryRegistry().register('one', 'One.', () => Promise.reject(fault));
    await expect(registry.spawn('one', 1)).rejects.toBe(fault);
  });

  it('shares nothing with another registry, and forgets a factory that is unregistered', () => {
    const [one, other] = [new AgentFactoryRegistry(), new AgentFactoryRegistry()];
    one.register('writer', 'Writes.', () => new FakeAgent('writer'));
    other.register('writer', 'Also writes.', () => new FakeAgent('writer'));
    expect([one.unregister('writer'), one.unregister('writer')]).toEqual([true, false]);
    expect([one.list(), other.list()]).toEqual([[], [{ name: 'writer', description: 'Also writes.' }]]);
  });
});
