import { until } from '#rollcall/test-support';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import type { Given } from './given.js';
import { LoadedAgent, type Team } from './loaded-agent.js';
import type { Replicas } from './replicas.js';

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
  private failure?: unknown;

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

  /** Ends the load; the agents complete their steps. */
  async calm(): Promise<void> {
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
    this.running = Promise.all(work).catch((error: unknown) => (this.failure = error));
  }

  private rethrow(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  private async use(agent: LoadedAgent): Promise<void> {
    while (this.phase === 'load' && this.failure === undefined) await agent.step();
  }

  private async beat(): Promise<void> {
    while (this.phase === 'heartbeats') for (const agent of this.agents) await agent.beat();
  }
}

/** A team with the key of its consumer of events. */
export interface ObservedTeam extends Team {
  viewerKey: string;
}

/** Creates the namespaces, with keys and a budget for each, and a budget of the fleet. */
export async function createTeams(
  given: Given,
  names: string[],
  rules: (namespace: string) => Pick<Team, 'fails' | 'isSilent'>,
): Promise<ObservedTeam[]> {
  const spenderKey = await given.keyIn('*', 'caller');
  await given.budget({ kind: 'fleet', limit: { tokens: 1e12 } }, '*');
  const teams: ObservedTeam[] = [];
  for (const [index, namespace] of names.entries()) {
    if (namespace !== DEFAULT_NAMESPACE) await given.namespace(namespace);
    const mark = index + 1;
    await given.budget({ limit: { tokens: mark * 1e9 } }, namespace);
    teams.push({
      ...{ namespace, mark, spenderKey, ...rules(namespace) },
      agentKey: await given.keyIn(namespace, 'agent'),
      callerKey: await given.keyIn(namespace, 'caller'),
      viewerKey: await given.keyIn(namespace, 'viewer'),
    });
  }
  return teams;
}
