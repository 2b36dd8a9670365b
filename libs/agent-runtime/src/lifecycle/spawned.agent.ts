import { qualifiedId } from '#rollcall/platform';
import type { AgentState, AgentType } from '#rollcall/providers';
import type { DefinitionKey } from '../definitions/definition.js';
import type { HostedAgent } from './hosted.agent.js';
import type { AgentVitals, RuntimeAgentRow } from './registration/runtime-agent.store.js';
import type { ShutdownDetail } from './shutdown/shutdown.report.js';

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

/** The registration of a spawned agent in the registry. */
export interface Membership {
  generation: number;
  leaseToken: string;
}

export interface SpawnedFacts extends DefinitionKey {
  /** The name of its definition; null if it was spawned without one. */
  definition: string | null;
  revision: number | null;
  agentType: AgentType;
  provider: string;
  replicaId: string;
  spawnedBy: string;
  spawnedAt: string;
}

/** An agent that was spawned on this replica: a member of the registry, with a heartbeat. */
export class SpawnedAgent {
  /** Its qualified id in the registry. */
  readonly agentId: string;
  /** Set when its shutdown has started, which happens once. */
  closing?: Promise<ShutdownDetail>;
  /** True if the registration is possibly older than the current revision of the definition. */
  isOutdated = false;

  constructor(
    readonly facts: SpawnedFacts,
    readonly hosted: HostedAgent,
    public membership: Membership,
  ) {
    this.agentId = qualifiedId(facts.namespace, facts.name);
  }

  get info(): AgentInfo {
    const { state, inFlight } = this.hosted;
    return { ...this.facts, state, inFlight };
  }

  get vitals(): AgentVitals {
    const { state, inFlight } = this.hosted;
    const { revision, agentType, provider } = this.facts;
    const { generation } = this.membership;
    return { agentId: this.agentId, generation, state, inFlight, revision, agentType, provider };
  }
}
