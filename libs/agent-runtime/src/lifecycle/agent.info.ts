import type { AgentState, AgentType } from '#rollcall/providers';
import type { RuntimeAgentRow } from './runtime-agent.store.js';

export const AGENT_STATES = ['idle', 'busy', 'failed', 'closed'] as const satisfies AgentState[];

/** A live agent that a replica hosts. */
export interface AgentInfo {
  namespace: string;
  name: string;
  agentType: AgentType;
  provider: string;
  /** Read from the agent. For an agent of another replica, as of its last beat. */
  state: AgentState;
  inFlight: number;
  /** The name of its definition; null if it was spawned without one. */
  definition: string | null;
  revision: number | null;
  /** The replica that hosts it. */
  replicaId: string;
  spawnedAt: string;
  spawnedBy: string;
}

export function toInfo(row: RuntimeAgentRow): AgentInfo {
  const { agentId: _id, generation: _generation, runLimit: _limit, maxRuns: _max, spawnedAt, ...info } = row;
  return { ...info, spawnedAt: spawnedAt.toISOString() };
}
