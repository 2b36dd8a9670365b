import { until } from '#rollcall/test-support';
import { call } from './call.js';
import { LoadedAgent, type Team } from './loaded-agent.js';
import type { Replicas } from './replicas.js';

/**
 * The same agentIds in several namespaces, all under load at the same time. After the load, the agents send only heartbeats, so that
 * they stay registered.
 */
export class NamespaceStorm {
  readonly agents: LoadedAgent[];
  private phase: 'load' | 'heartbeats' | 'ended' = 'load';
  private running?: Promise<unknown>;
  private failure?: unknown;

  constructor(replicas: Replicas, teams: readonly Team[], agentsPerTeam: number) {
    const numbers = Array.from({ length: agentsPerTeam }, (_, index) => index);
    this.agents = teams.flatMap((team) => numbers.map((index) => new LoadedAgent(replicas, team, index)));
  }

  of(namespace: string): LoadedAgent[] {
    return this.agents.filter(({ team }) => team.namespace === namespace);
  }

  async start(): Promise<void> {
    await this.each(async (agent) => await agent.register());
    this.running = this.each(async (agent) => await this.use(agent)).catch((error: unknown) => (this.failure = error));
  }

  /** Waits until each agent has done this many more steps. */
  async steps(count: number): Promise<void> {
    const goals = this.agents.map((agent) => ({ agent, steps: agent.steps + count }));
    await until(`each agent has done ${count} steps`, () => {
      if (this.failure !== undefined) throw this.failure;
      return goals.every(({ agent, steps }) => agent.steps >= steps);
    });
  }

  /** Ends the load; the agents finish their steps. */
  async calm(): Promise<void> {
    this.phase = 'heartbeats';
    await this.running;
    if (this.failure !== undefined) throw this.failure;
    this.running = this.beat();
  }

  async end(): Promise<void> {
    this.phase = 'ended';
    await this.running;
  }

  private async use(agent: LoadedAgent): Promise<void> {
    while (this.phase === 'load' && this.failure === undefined) await agent.step();
  }

  private async beat(): Promise<void> {
    await until('the storm has ended', async () => {
      for (const agent of this.agents) await agent.beat();
      return this.phase === 'ended';
    }, 120_000);
  }

  private async each(action: (agent: LoadedAgent) => Promise<void>): Promise<void> {
    await Promise.all(this.agents.map(action));
  }
}

const ALL = { 'rollcall-namespace': '*' };

export interface TeamKeys extends Team {
  viewerKey: string;
}

/** Creates the namespaces, with keys and a budget for each, and a budget of the fleet. Calls fail for even numbers in `failing`. */
export async function createTeams(url: string, key: string, names: string[], failing: string): Promise<TeamKeys[]> {
  const create = async (path: string, body: object, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await call(url, 'POST', path, { key, body, headers });
    if (answer.status !== 201) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return String(answer.body['key']);
  };
  const issue = async (namespace: string, role: string): Promise<string> =>
    await create('/v1/keys', { name: `${namespace} ${role}`, roles: [role], namespace });
  const spenderKey = await issue('*', 'caller');
  await create('/v1/budgets', { kind: 'fleet', limit: { tokens: 1e12 } }, ALL);
  const teams: TeamKeys[] = [];
  for (const [index, namespace] of names.entries()) {
    if (namespace !== 'default') await create('/v1/namespaces', { name: namespace });
    const inside = { 'rollcall-namespace': namespace };
    await create('/v1/budgets', { kind: 'namespace', limit: { tokens: (index + 1) * 1e9 } }, inside);
    teams.push({
      namespace,
      mark: index + 1,
      spenderKey,
      agentKey: await issue(namespace, 'agent'),
      callerKey: await issue(namespace, 'caller'),
      viewerKey: await issue(namespace, 'viewer'),
      fails: (number) => namespace === failing && number % 2 === 0,
    });
  }
  return teams;
}
