import type { RunContext } from '../loop/run.context.js';
import type { AgentFactories } from './agent.factories.js';
import { AgentFactoryInvalidError } from './delegation.errors.js';
import type { DelegationTarget, DelegationTargets, ListedTarget, WantedAgent } from './delegation.targets.js';

/**
 * The agents of factories. Each call gets a new agent, which is shut down after the call. Factories have no
 * capabilities. Cycles are recognised by the names of agents, so an agent must have the name of its factory.
 */
export class FactoryTargets implements DelegationTargets {
  constructor(private readonly factories: AgentFactories) {}

  async list(_context: RunContext, among?: ReadonlySet<string>): Promise<readonly ListedTarget[]> {
    return this.factories.list().filter(({ name }) => !among || among.has(name));
  }

  async open(wanted: WantedAgent, { depth }: RunContext): Promise<DelegationTarget | undefined> {
    if (!('name' in wanted)) return undefined;
    const { name } = wanted;
    if (!this.factories.list().some((listed) => listed.name === name)) return undefined;
    const agent = await this.factories.spawn(name, depth + 1);
    if (agent.name !== name) {
      await agent.shutdown();
      throw new AgentFactoryInvalidError(
        `The factory ${name} created an agent named ${agent.name}. Use the same name.`,
      );
    }
    return { name, agent, close: async () => await agent.shutdown() };
  }
}
