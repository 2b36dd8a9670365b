import type { LeaseClaim } from '../agents/registration.js';
import type { DomainError } from '#rollcall/platform';

/** A heartbeat and the values that the agent reports. If a value is missing, the last reported value stays. */
export interface Heartbeat extends LeaseClaim {
  inFlight?: number;
  loadRatio?: number;
  /** The latency that the agent reports. */
  reportedMs?: number;
  usedTokens?: number;
}

/** Heartbeats that this replica committed with one statement. */
export interface OwnBeats {
  /** The time of the heartbeats by the database's clock, in milliseconds. */
  beatAt: number;
  /** The agents whose previous heartbeat was committed by another replica. */
  moved: readonly string[];
}

/** The time at which the heartbeat was accepted, or the reason why it was rejected. */
export type BeatResult = { ok: true; beatAt: number } | { ok: false; error: DomainError };
