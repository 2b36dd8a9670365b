/** A stretch of time in which beats may have been lost on our side: no sweep ran, or the database was away. */
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

export const USUAL_PROTECTION_POLICY: ProtectionPolicy = {
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

/** A plain value, kept between sweeps in one shared row. */
export interface ProtectionState {
  mode: ProtectionMode;
  since: number;
  /** When `protecting` turns into `throttled`; null in the other modes. */
  until: number | null;
  /** Evictions not yet made that the rate allows, in parts. */
  credit: number;
  lastSweepAt: number | null;
}

export interface SweepFacts {
  /** Everyone with a lease, the silent included. */
  fleet: number;
  suspect: number;
  expired: number;
  /** The last time the database did not answer, if that was since the last sweep. */
  databaseAway: Gap | null;
  override: ProtectionOverride;
}

export type ProtectionReason = 'healthy' | 'few_silent' | 'mass_silence' | 'time_box_over' | 'operator' | 'gap';

export interface ProtectionDecision {
  state: ProtectionState;
  /** How many of the expired may be evicted in this sweep; the others stay suspect. */
  mayEvict: number;
  /** Every lease gets this time back, and nobody is evicted before the next sweep has looked again. */
  gap: Gap | null;
  explanation: ProtectionExplanation;
}

export interface ProtectionExplanation {
  state: ProtectionMode;
  since: number;
  until: number | null;
  reason: ProtectionReason;
  text: string;
  numbers: {
    fleet: number;
    suspect: number;
    expired: number;
    silentShare: number;
    threshold: number;
    mayEvict: number;
  };
}

export function calmProtection(now: number): ProtectionState {
  return { mode: 'normal', since: now, until: null, credit: 0, lastSweepAt: null };
}

/**
 * Decides what one sweep may do. When more of the fleet is silent than the threshold, the likelier cause is on our side, so
 * agents are only suspected; after a time box they are evicted at a limited rate, because some day they are really gone.
 * Suspects count as silent: agents do not expire in the same sweep, so the first to expire announces the others. It leaves
 * protection as soon as the share is back below the threshold. Time in which we could not have heard anyone is given back
 * to every lease before anything is decided.
 */
export function decideProtection(
  before: ProtectionState,
  facts: SweepFacts,
  now: number,
  policy: ProtectionPolicy,
): ProtectionDecision {
  const gap = findGap(before, facts, now, policy);
  if (gap) return decision({ ...before, lastSweepAt: now }, facts, policy, { reason: 'gap', mayEvict: 0, gap });
  const elapsedMs = now - (before.lastSweepAt ?? now);
  const after = { ...nextState(before, facts, now, policy), lastSweepAt: now };
  if (facts.override === 'evict')
    return decision(after, facts, policy, { reason: 'operator', mayEvict: facts.expired });
  if (facts.override === 'protect') return decision(after, facts, policy, { reason: 'operator', mayEvict: 0 });
  if (after.mode === 'normal') {
    const reason = facts.expired + facts.suspect > 0 ? 'few_silent' : 'healthy';
    return decision(after, facts, policy, { reason, mayEvict: facts.expired });
  }
  if (after.mode === 'protecting') return decision(after, facts, policy, { reason: 'mass_silence', mayEvict: 0 });
  const credit = before.credit + (elapsedMs / 60_000) * policy.evictionsPerMinute;
  const mayEvict = Math.min(facts.expired, Math.floor(credit));
  const left = Math.min(credit - mayEvict, 1); // what was not needed is not saved up for a burst
  return decision({ ...after, credit: left }, facts, policy, { reason: 'time_box_over', mayEvict });
}

/** When nobody could be heard or nobody looked, as one stretch of time: rather too long than too short. */
function findGap(before: ProtectionState, facts: SweepFacts, now: number, policy: ProtectionPolicy): Gap | null {
  const due = before.lastSweepAt === null ? now : before.lastSweepAt + policy.sweepEveryMs;
  const late = now - due > policy.toleranceMs ? { from: due, to: now } : null;
  const away = facts.databaseAway;
  if (!late || !away) return late ?? away;
  return { from: Math.min(late.from, away.from), to: Math.max(late.to, away.to) };
}

function nextState(before: ProtectionState, facts: SweepFacts, now: number, policy: ProtectionPolicy): ProtectionState {
  const calm = (): ProtectionState => (before.mode === 'normal' ? before : calmProtection(now));
  if (facts.override === 'evict') return calm();
  if (facts.override === 'protect') {
    return before.mode === 'protecting'
      ? before
      : { ...before, mode: 'protecting', since: now, until: null, credit: 0 };
  }
  if (!isMassSilence(facts, policy)) return calm();
  if (before.mode === 'normal') {
    if (facts.expired === 0) return before; // nobody is in danger yet
    return { ...before, mode: 'protecting', since: now, until: now + policy.longestMs, credit: 0 };
  }
  const until = before.until ?? before.since + policy.longestMs;
  if (before.mode === 'throttled' || now < until) return before;
  return { ...before, mode: 'throttled', since: now, until: null };
}

function isMassSilence(facts: SweepFacts, policy: ProtectionPolicy): boolean {
  const silent = facts.expired + facts.suspect;
  return silent >= policy.fewest && silentShare(facts) > policy.threshold;
}

function silentShare({ fleet, expired, suspect }: SweepFacts): number {
  return fleet === 0 ? 0 : (expired + suspect) / fleet;
}

function decision(
  state: ProtectionState,
  facts: SweepFacts,
  policy: ProtectionPolicy,
  made: { reason: ProtectionReason; mayEvict: number; gap?: Gap },
): ProtectionDecision {
  const { fleet, suspect, expired } = facts;
  const { reason, mayEvict, gap = null } = made;
  const share = silentShare(facts);
  const numbers = { fleet, suspect, expired, silentShare: share, threshold: policy.threshold, mayEvict };
  const { mode, since, until } = state;
  const text = explain(reason, numbers, policy, gap);
  return { state, mayEvict, gap, explanation: { state: mode, since, until, reason, text, numbers } };
}

function explain(
  reason: ProtectionReason,
  { fleet, suspect, expired, silentShare: share, mayEvict }: ProtectionExplanation['numbers'],
  policy: ProtectionPolicy,
  gap: Gap | null,
): string {
  const silent = `${suspect + expired} of ${fleet} agents are silent (${Math.round(share * 100)} %)`;
  const limit = `${Math.round(policy.threshold * 100)} %`;
  switch (reason) {
    case 'healthy':
      return 'Every agent is heard.';
    case 'few_silent':
      return `${silent}, no more than ${limit} or fewer than ${policy.fewest}: who has expired is evicted.`;
    case 'mass_silence':
      return `${silent}, more than ${limit}: the fault may be ours, so nobody is evicted for now.`;
    case 'time_box_over':
      return `${silent} after all the time we waited: evicting ${policy.evictionsPerMinute} a minute at most, ${mayEvict} now.`;
    case 'operator':
      return mayEvict > 0 || expired === 0
        ? `An operator decided; ${silent}.`
        : `An operator holds protection on; ${silent}.`;
    case 'gap':
      return `Nobody could be heard for ${(gap?.to ?? 0) - (gap?.from ?? 0)} ms: every lease gets that time back.`;
  }
}
