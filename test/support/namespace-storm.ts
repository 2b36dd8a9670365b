import { until } from '#rollcall/test-support';
import { LoadedAgent } from './loaded-agent.js';
import type { Replicas } from './replicas.js';
import type { Team } from './team.js';

/**
 * The same agentIds in several namespaces, all under load at the same time. After the load, the agents send only heartbeats, so that
 * they stay registered.
 */
export class NamespaceStorm {
  /** All agents except the silent ones. */
  readonly agents: LoadedAgent[];
  /** Agents that register and send nothing else. */
  readonly silent: LoadedAgent[];
  private phase: 'load' | 'heartbeats' | 'ended' = 'load';
  private running?: Promise<unknown>;
  private failure?: Error;

  constructor(replicas: Replicas, teams: readonly Team[], agentsPerTeam: number) {
    const numbers = Array.from({ length: agentsPerTeam }, (_, index) => index);
    const all = teams.flatMap((team) => numbers.map((index) => new LoadedAgent(replicas, team, index)));
    this.agents = all.filter(({ team, index }) => !team.isSilent(index));
    this.silent = all.filter(({ team, index }) => team.isSilent(index));
  }

  of(namespace: string): LoadedAgent[] {
    return this.agents.filter(({ team }) => team.namespace === namespace);
  }

  async start(): Promise<void> {
    await Promise.all([...this.agents, ...this.silent].map(async (agent) => await agent.register()));
    this.run(this.agents.map(async (agent) => await this.use(agent)));
  }

  /** Waits until each agent has completed this many more steps. */
  async steps(count: number): Promise<void> {
    const goals = this.agents.map((agent) => ({ agent, steps: agent.steps + count }));
    await until(`each agent has completed ${count} steps`, () => {
      this.rethrow();
      return goals.every(({ agent, steps }) => agent.steps >= steps);
    });
  }

  /** Ends the load after the current step of each agent. From then on, the agents send heartbeats. */
  async endLoad(): Promise<void> {
    this.phase = 'heartbeats';
    await this.running;
    this.rethrow();
    this.run([this.beat()]);
  }

  async end(): Promise<void> {
    this.phase = 'ended';
    await this.running;
    this.rethrow();
  }

  private run(work: Promise<void>[]): void {
    this.running = Promise.all(work).catch((error: Error) => (this.failure = error));
  }

  private rethrow(): void {
    if (this.failure) throw this.failure;
  }

  private async use(agent: LoadedAgent): Promise<void> {
    while (this.phase === 'load' && this.failure === undefined) await agent.step();
  }

  private async beat(): Promise<void> {
    while (this.phase === 'heartbeats') for (const agent of this.agents) await agent.beat();
  }
}
