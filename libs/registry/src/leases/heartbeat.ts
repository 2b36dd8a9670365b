import type { LeaseClaim } from '../agents/registration.js';
import type { DomainError } from '#rollcall/platform';

/** One beat: who, and what it reports of itself. What it leaves out stays as it was. */
export interface Heartbeat extends LeaseClaim {
  inFlight?: number;
  loadRatio?: number;
  observedMs?: number;
  usedTokens?: number;
}

/** Beats that this replica committed, all at one moment. */
export interface OwnBeats {
  /** In milliseconds. */
  beatAt: number;
  /** The agents whose previous beat was committed by another replica. */
  moved: readonly string[];
}

/** The moment at which the beat was counted, or the reason why it was not. */
export type BeatResult = { ok: true; beatAt: number } | { ok: false; error: DomainError };
