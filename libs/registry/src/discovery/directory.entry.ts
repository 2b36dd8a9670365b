import type { AgentLoad, AgentRecord } from '../agents/agent.record.js';
import type { CircuitState } from '../circuit/circuit.breaker.js';

/**
 * An agent as the directory takes it in: the record, and the facts that time alone will change. What the record says about
 * status, health state and circuit is what was written last; an assessment says what holds at a moment.
 */
export interface DirectoryEntry {
  record: AgentRecord;
  /** Counts the writes to this agent within its generation. */
  revision: number;
  circuit: CircuitState;
  /** When its silence makes it suspect. Null on a replica that does not hear every beat: it learns that from the feed. */
  suspectAt: number | null;
  /** Until when it is kept out because it came and went too often; null when it is not. */
  dampedUntil: number | null;
}

/** Which write is the newer: generation first, then revision. */
export interface Revision {
  generation: number;
  revision: number;
}

export function isNewer(one: Revision, other: Revision): boolean {
  return one.generation > other.generation || (one.generation === other.generation && one.revision > other.revision);
}

/** What a heartbeat tells. It is no write to the record, so it has no revision; the generation and its time fence it. */
export interface Vitals {
  generation: number;
  beatAt: number;
  load?: AgentLoad;
  observedMs?: number;
  /** All tokens used so far; what the record knows may be more. */
  usedTokens?: number;
  suspectAt: number | null;
}
