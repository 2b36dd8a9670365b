/** A period that does not count as silence, because the registry may have been unable to receive heartbeats. */
export interface Gap {
  from: number;
  to: number;
}

export interface ProtectionPolicy {
  /** If more than this share of the fleet is silent, the cause is probably not the agents, and protection begins. */
  threshold: number;
  /** Protection needs at least this many silent agents: in a fleet of four, one agent is already a quarter. */
  fewest: number;
  /** The time box: no agent is evicted for this long. After it, silent agents are evicted at a limited rate. */
  longestMs: number;
  /** The rate of evictions after the time box. */
  evictionsPerMinute: number;
  sweepEveryMs: number;
  /** A sweep may be late by this much before the delay counts as a gap. */
  toleranceMs: number;
}

export interface SweepPolicy extends ProtectionPolicy {
  /** How long a lease lasts after a heartbeat. */
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

/** Returns one message for each invalid setting. */
export function protectionPolicyFaults(policy: ProtectionPolicy): string[] {
  const { threshold, fewest, longestMs, evictionsPerMinute, sweepEveryMs, toleranceMs } = policy;
  const rules: [boolean, string][] = [
    [
      threshold >= 0 && threshold <= 1,
      `threshold (${threshold}) must be from 0 to 1: it is the share of the fleet that may be silent`,
    ],
    [
      fewest >= 1,
      `fewest (${fewest}) must be at least 1: it is the number of silent agents with which protection begins`,
    ],
    [longestMs >= 0, `longestMs (${longestMs}) must not be negative: use 0 for a limited rate from the start`],
    [
      evictionsPerMinute > 0,
      `evictionsPerMinute (${evictionsPerMinute}) must be more than 0: agents that are gone would stay listed forever`,
    ],
    [
      sweepEveryMs > 0,
      `sweepEveryMs (${sweepEveryMs}) must be more than 0: it is the time after which the next sweep is due`,
    ],
    [
      toleranceMs >= 0,
      `toleranceMs (${toleranceMs}) must not be negative: sweeps that are in time would count as late`,
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, fault]) => `protection.${fault}`);
}

/** `auto` decides by the numbers. With `protect` no agent is evicted; with `evict` all expired agents are evicted immediately. */
export type ProtectionOverride = 'auto' | 'protect' | 'evict';

export type ProtectionMode = 'normal' | 'protecting' | 'throttled';

/** The state between two sweeps, stored in one row. A row of an earlier version lacks the optional fields. */
export interface ProtectionState {
  mode: ProtectionMode;
  since: number;
  /** When `protecting` changes to `throttled`; null in the other modes. */
  until: number | null;
  /** How many evictions the rate allows now; may be a fraction. */
  credit: number;
  lastSweepAt: number | null;
  /** When a sweep last read all leases, and not only those of agents that may be silent. */
  checkedAllAt?: number;
  /** When the time box of this episode ends. An episode ends after two lease durations without protection. */
  boxUntil?: number;
  /** Whether silence was forgiven after the end of the time box. An episode does this at most once. */
  forgaveLate?: boolean;
  /** In `throttled`: until this time no agent is evicted, because agents are recovering. */
  heldUntil?: number;
}

export interface SweepFacts {
  /** All agents with a lease, including silent ones. */
  fleet: number;
  suspect: number;
  expired: number;
  /** Suspect agents that sent a heartbeat since the last sweep. */
  beatingAgain: number;
  /** The longest silence of any agent, without the forgiven time. */
  longestSilentMs: number;
  override: ProtectionOverride;
}

export function normalProtection(now: number): ProtectionState {
  return { mode: 'normal', since: now, until: null, credit: 0, lastSweepAt: null };
}

/** The state with all its times moved by `ms`. */
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
  if (facts.override === 'evict') return leaveProtection(before, now);
  if (facts.override === 'protect') {
    if (before.mode === 'protecting') return before;
    return { ...normalProtection(now), mode: 'protecting' };
  }
  if (!isMassSilence(facts, policy)) return leaveProtection(before, now);
  const isHeldByOperator = before.mode === 'protecting' && before.until === null;
  if (before.mode === 'normal' || isHeldByOperator) return enterProtection(before, now, policy);
  if (before.mode === 'throttled' || now < (before.until ?? 0)) return before;
  return { ...before, mode: 'throttled', since: now, until: null };
}

/**
 * Leaving protection forgives silence, so an episode that enters and leaves protection repeatedly could keep dead agents listed
 * forever. Therefore the whole episode has one time box, and after its end silence is forgiven only once.
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

function leaveProtection(before: ProtectionState, now: number): ProtectionState {
  if (before.mode === 'normal') return before;
  const { boxUntil, forgaveLate } = before;
  return { ...normalProtection(now), boxUntil, forgaveLate };
}

/** After two lease durations without protection all dead agents are evicted, so the next entry begins a new episode. */
function enterProtection(before: ProtectionState, now: number, policy: SweepPolicy): ProtectionState {
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
