import type { Agent } from '#rollcall/providers';
import type { RunContext } from '../../loop/run.context.js';
import { AgentFactoryInvalidError, AgentFactoryTakenError, AgentFactoryUnknownError } from '../delegation.errors.js';
import type { DelegationTarget, DelegationTargets, ListedTarget, WantedAgent } from './delegation.targets.js';

/** Creates an agent at this depth of the tree of runs. It must be a new agent each time, because each agent is shut down after its run. */
type AgentFactory = (depth: number) => Agent | Promise<Agent>;

/** The agents that can be created in this process, by name (S2.3). */
export interface AgentFactories {
  /** Sorted by name. */
  list(): readonly ListedTarget[];
  /** Creates a new agent. */
  spawn(name: string, depth: number): Promise<Agent>;
}

/** A factory with what other agents see of it. */
export interface NamedFactory extends ListedTarget {
  readonly create: AgentFactory;
}

interface Entry extends ListedTarget {
  readonly factory: AgentFactory;
}

/** Factories that are registered in code. Two registries share nothing. */
export class AgentFactoryRegistry implements AgentFactories {
  private readonly entries = new Map<string, Entry>();
  private readonly spawned = new WeakSet<Agent>();

  register(name: string, description: string, factory: AgentFactory): this {
    if (name.trim() === '') throw new AgentFactoryInvalidError('An agent factory needs a name that is not empty.');
    if (this.entries.has(name)) throw new AgentFactoryTakenError(name);
    this.entries.set(name, { name, description, factory });
    return this;
  }

  /** Returns whether the factory existed. Agents that the factory has created continue. */
  unregister(name: string): boolean {
    return this.entries.delete(name);
  }

  list(): ListedTarget[] {
    const all = [...this.entries.values()].map(({ name, description }) => ({ name, description }));
    return all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  async spawn(name: string, depth: number): Promise<Agent> {
    const entry = this.entries.get(name);
    if (!entry) throw new AgentFactoryUnknownError(name, [...this.entries.keys()].toSorted());
    const agent = await entry.factory(depth);
    if (this.spawned.has(agent))
      throw new AgentFactoryInvalidError(
        `The factory ${name} returned the same agent twice. Create a new one each time.`,
      );
    this.spawned.add(agent);
    return agent;
  }
}

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
