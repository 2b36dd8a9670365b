import type { RunContext } from '../loop/run.context.js';
import type { AgentFactories } from './agent.factories.js';
import type { DelegationTarget, DelegationTargets, ListedTarget, WantedAgent } from './delegation.targets.js';

/** The agents of factories. Each call gets a new agent, which is shut down after the call. Factories have no capabilities. */
export class FactoryTargets implements DelegationTargets {
  constructor(private readonly factories: AgentFactories) {}

  async list(): Promise<readonly ListedTarget[]> {
    return this.factories.list();
  }

  async open(wanted: WantedAgent, { depth }: RunContext): Promise<DelegationTarget | undefined> {
    if (!('name' in wanted)) return undefined;
    const { name } = wanted;
    if (!this.factories.list().some((listed) => listed.name === name)) return undefined;
    const agent = await this.factories.spawn(name, depth + 1);
    return { name, agent, close: async () => await agent.shutdown() };
  }
}
