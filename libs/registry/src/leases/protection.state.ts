/** A period in which no sweep ran, so that beats may have been lost on our side. */
export interface Gap {
  from: number;
  to: number;
}

export interface ProtectionPolicy {
  /** More than this share of the fleet going silent is our problem before it is theirs. */
  threshold: number;
  /** Fewer silent agents than this are evicted whatever the share: in a fleet of four, one is a quarter. */
  fewest: number;
  /** How long nobody is evicted; then, if they are still silent, slowly. */
  longestMs: number;
  /** How many may be evicted in a minute once that time is over. */
  evictionsPerMinute: number;
  sweepEveryMs: number;
  /** A sweep that is late by no more than this is punctual. */
  toleranceMs: number;
}

export interface SweepPolicy extends ProtectionPolicy {
  /** How long a lease lasts from a beat on. */
  leaseMs: number;
}

export const DEFAULT_PROTECTION_POLICY: ProtectionPolicy = {
  threshold: 0.15,
  fewest: 3,
  longestMs: 600_000,
  evictionsPerMinute: 60,
  sweepEveryMs: 1_000,
  toleranceMs: 2_000,
};

/** `auto` decides by the numbers; an operator may hold protection on, or have everyone expired evicted at once. */
export type ProtectionOverride = 'auto' | 'protect' | 'evict';

export type ProtectionMode = 'normal' | 'protecting' | 'throttled';

/** A plain value, kept between sweeps in one shared row. A row of an earlier version lacks the optional fields. */
export interface ProtectionState {
  mode: ProtectionMode;
  since: number;
  /** When `protecting` turns into `throttled`; null in the other modes. */
  until: number | null;
  /** Evictions not yet made that the rate allows, in parts. */
  credit: number;
  lastSweepAt: number | null;
  /** When the time box of this episode ends. An episode goes on until protection has been off for two leases. */
  boxUntil?: number;
  /** Whether this episode has forgiven silence after the end of its time box. It may do so once. */
  forgaveLate?: boolean;
  /** In `throttled`: agents are coming back, so nobody is evicted until then. */
  heldUntil?: number;
}

export interface SweepFacts {
  /** Everyone with a lease, the silent included. */
  fleet: number;
  suspect: number;
  expired: number;
  /** Suspects that have beaten since the last sweep. */
  beatingAgain: number;
  /** The longest silence of any lease, without the time that was forgiven. */
  longestSilentMs: number;
  override: ProtectionOverride;
}

export function normalProtection(now: number): ProtectionState {
  return { mode: 'normal', since: now, until: null, credit: 0, lastSweepAt: null };
}

/** The state as it would be had everything happened `ms` later; a negative number means earlier. */
export function shifted(state: ProtectionState, ms: number): ProtectionState {
  const { since, until, boxUntil, heldUntil } = state;
  return {
    ...state,
    since: since + ms,
    until: until === null ? null : until + ms,
    boxUntil: boxUntil === undefined ? undefined : boxUntil + ms,
    heldUntil: heldUntil === undefined ? undefined : heldUntil + ms,
  };
}

export function nextState(
  before: ProtectionState,
  facts: SweepFacts,
  now: number,
  policy: SweepPolicy,
): ProtectionState {
  if (facts.override === 'evict') return calm(before, now);
  if (facts.override === 'protect') {
    if (before.mode === 'protecting') return before;
    return { ...normalProtection(now), mode: 'protecting' };
  }
  if (!isMassSilence(facts, policy)) return calm(before, now);
  const isHeldByOperator = before.mode === 'protecting' && before.until === null;
  if (before.mode === 'normal' || isHeldByOperator) return entered(before, now, policy);
  if (before.mode === 'throttled' || now < (before.until ?? 0)) return before;
  return { ...before, mode: 'throttled', since: now, until: null };
}

/**
 * Leaving protection forgives silence, so an episode that enters and leaves it again and again could keep dead agents for
 * ever. The time box is therefore one for the whole episode, and after its end silence is forgiven once.
 */
export function mayForgive({ boxUntil, forgaveLate }: ProtectionState, now: number): boolean {
  return boxUntil === undefined || now < boxUntil || forgaveLate !== true;
}

export function isTimeBoxOver({ boxUntil }: ProtectionState, now: number): boolean {
  return boxUntil !== undefined && now >= boxUntil;
}

export function silentShare({ fleet, expired, suspect }: SweepFacts): number {
  return fleet === 0 ? 0 : (expired + suspect) / fleet;
}

function calm(before: ProtectionState, now: number): ProtectionState {
  if (before.mode === 'normal') return before;
  const { boxUntil, forgaveLate } = before;
  return { ...normalProtection(now), boxUntil, forgaveLate };
}

/** After two leases without protection every dead agent has been evicted: what comes then is a new episode. */
function entered(before: ProtectionState, now: number, policy: SweepPolicy): ProtectionState {
  const isSameEpisode = before.mode === 'normal' && now - before.since < 2 * policy.leaseMs;
  const known = isSameEpisode ? before.boxUntil : undefined;
  const boxUntil = known ?? now + policy.longestMs;
  const forgaveLate = known !== undefined && before.forgaveLate;
  const entry = { ...before, since: now, credit: 0, boxUntil, forgaveLate, heldUntil: undefined };
  return now < boxUntil
    ? { ...entry, mode: 'protecting', until: boxUntil }
    : { ...entry, mode: 'throttled', until: null };
}

function isMassSilence(facts: SweepFacts, policy: ProtectionPolicy): boolean {
  const silent = facts.expired + facts.suspect;
  return silent >= policy.fewest && silentShare(facts) > policy.threshold;
}
