import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import type { Given } from './given.js';

/** A namespace under load. Its values differ from those of the other namespaces, so that a value in the wrong namespace is noticed. */
export interface Team {
  namespace: string;
  /** A digit that is part of all numbers of the namespace. */
  mark: number;
  agentKey: string;
  callerKey: string;
  /** A key for all namespaces: its reservations have the same owner and the same keys in each namespace. */
  spenderKey: string;
  /** Whether calls to the agent with this number fail. */
  fails(index: number): boolean;
  /** Whether the agent with this number sends no heartbeats. */
  isSilent(index: number): boolean;
}

/** The capability that all agents in all namespaces have. */
export const SHARED_CAPABILITY = 'work';

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
      namespace,
      mark,
      spenderKey,
      ...rules(namespace),
      agentKey: await given.keyIn(namespace, 'agent'),
      callerKey: await given.keyIn(namespace, 'caller'),
      viewerKey: await given.keyIn(namespace, 'viewer'),
    });
  }
  return teams;
}
