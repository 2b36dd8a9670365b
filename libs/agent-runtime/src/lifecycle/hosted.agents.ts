import type { Agent } from '#rollcall/providers';
import type { DefinitionKey } from '../definitions/definition.js';
import type { SpendingLimit } from '../spending/spending.js';

/** The right to call an agent once. */
export interface AgentUse {
  readonly agent: Agent;
  /** The revision of its definition; null if the agent was spawned without one. */
  readonly revision: number | null;
  /** Aborted when the agent is shut down. `Agent.handle` ends by itself; a caller of `ReactAgent.run` must pass this signal to it. */
  readonly signal: AbortSignal;
  /** Must be called when the call has ended. A second call has no effect. */
  release(): void;
}

/** The revision of a definition that a run was started on. */
export interface PinnedRevision {
  readonly name: string;
  readonly revision: number;
}

export interface UseOptions {
  /** The call uses this revision, even if the definition was replaced or removed. */
  readonly pinned?: PinnedRevision;
  /** The call waits at `maxConcurrency` even if `whenBusy` is `reject`, because the limit was checked when the run was accepted. */
  readonly waits?: boolean;
}

/** Which replica hosts a spawned agent, and what the agent was built from. */
export interface AgentHosting {
  readonly replicaId: string;
  readonly definition: string | null;
  readonly revision: number | null;
  /** What each run may use, for an agent without a definition. */
  readonly runLimit: SpendingLimit | null;
  /** How many runs the agent accepts at a time, for an agent without a definition; null: no limit. */
  readonly maxRuns: number | null;
}

/** The agents that this replica can call by name. */
export abstract class HostedAgents {
  /** Identifies this process among the replicas. A restart changes it. */
  abstract readonly replicaId: string;

  /**
   * The agent of this name on this replica, for one call. It is built from its definition on first use (S0.3). At its
   * `maxConcurrency`, the call waits, or is rejected with AGENT_BUSY if `whenBusy` is `reject`. Throws
   * AGENT_HOSTED_ELSEWHERE if another replica hosts the agent, and no definition has its name.
   */
  abstract use(key: DefinitionKey, options?: UseOptions): Promise<AgentUse>;

  /** The spawned agent of this name; undefined if none is live on any replica. */
  abstract find(key: DefinitionKey): Promise<AgentHosting | undefined>;
}
