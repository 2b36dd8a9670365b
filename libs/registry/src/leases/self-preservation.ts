import {
  type Gap,
  isTimeBoxOver,
  mayForgive,
  nextState,
  type ProtectionMode,
  type ProtectionPolicy,
  type ProtectionState,
  shifted,
  silentShare,
  type SweepFacts,
  type SweepPolicy,
} from './protection.state.js';

type ProtectionReason =
  | 'healthy'
  | 'few_silent'
  | 'mass_silence'
  | 'time_box_over'
  | 'healing'
  | 'healed'
  | 'operator'
  | 'gap'
  | 'clock_back';

export interface ProtectionDecision {
  state: ProtectionState;
  /** How many of the expired agents this sweep may evict; the others stay suspect. */
  mayEvict: number;
  /** All leases are extended by this period, and this sweep evicts no agent. */
  gap: Gap | null;
  /** By how much the database's clock was set back since the last sweep; 0 if it was not. */
  clockBackMs: number;
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

interface Verdict {
  reason: ProtectionReason;
  mayEvict: number;
  gap?: Gap;
  clockBackMs?: number;
}

/**
 * Decides what one sweep may do.
 * - If a larger share of the fleet than the threshold is silent, the cause is probably not the agents. They become suspect and
 *   are not evicted. After a time box they are evicted at a limited rate, because they may really be gone.
 * - Suspect agents count as silent. Agents do not all expire in the same sweep, so this detects an outage before most of them expire.
 * - Protection ends when the share is no longer above the threshold. Silence until then is forgiven, because agents recover one
 *   after the other.
 * - A gap without sweeps extends all leases before anything else is decided.
 * - If the clock was set back, all stored times are moved back too.
 */
export function decideProtection(
  before: ProtectionState,
  facts: SweepFacts,
  now: number,
  policy: SweepPolicy,
): ProtectionDecision {
  const clockBackMs = Math.max(0, (before.lastSweepAt ?? now) - now);
  if (clockBackMs > 0) {
    const state = { ...shifted(before, -clockBackMs), lastSweepAt: now };
    return decision(state, facts, policy, { reason: 'clock_back', mayEvict: 0, clockBackMs });
  }
  const gap = findGap(before, now, policy);
  if (gap) return decision(afterGap(before, gap, now), facts, policy, { reason: 'gap', mayEvict: 0, gap });
  const elapsedMs = now - (before.lastSweepAt ?? now);
  const after = { ...nextState(before, facts, now, policy), lastSweepAt: now };
  if (facts.override === 'evict')
    return decision(after, facts, policy, { reason: 'operator', mayEvict: facts.expired });
  if (facts.override === 'protect') return decision(after, facts, policy, { reason: 'operator', mayEvict: 0 });
  if (after.mode === 'protecting') return decision(after, facts, policy, { reason: 'mass_silence', mayEvict: 0 });
  if (after.mode === 'throttled') {
    const earned = (elapsedMs / 60_000) * policy.evictionsPerMinute;
    return throttled({ ...after, credit: after.credit + earned }, facts, now, policy);
  }
  if (before.mode !== 'normal' && mayForgive(before, now)) return healed(after, facts, now, policy);
  const reason = facts.expired + facts.suspect > 0 ? 'few_silent' : 'healthy';
  return decision(after, facts, policy, { reason, mayEvict: facts.expired });
}

/** Protection has just ended. Agents that are still silent get a full lease from now on. */
function healed(state: ProtectionState, facts: SweepFacts, now: number, policy: SweepPolicy): ProtectionDecision {
  const after = { ...state, forgaveLate: isTimeBoxOver(state, now) };
  const gap = { from: now - Math.max(0, facts.longestSilentMs), to: now };
  return decision(after, facts, policy, { reason: 'healed', mayEvict: 0, gap });
}

function throttled(state: ProtectionState, facts: SweepFacts, now: number, policy: SweepPolicy): ProtectionDecision {
  const heldUntil = holdUntil(state, facts, now, policy);
  if (heldUntil !== undefined && now < heldUntil) {
    return decision({ ...state, heldUntil, credit: 0 }, facts, policy, { reason: 'healing', mayEvict: 0 });
  }
  const mayEvict = Math.min(facts.expired, Math.floor(state.credit));
  const left = Math.min(state.credit - mayEvict, 1); // unused evictions do not add up to a burst
  return decision({ ...state, heldUntil, credit: left }, facts, policy, { reason: 'time_box_over', mayEvict });
}

/**
 * Recovering agents show that the fault is ending. Evictions then pause for one lease. The next pause starts at least one
 * lease after the end of this one.
 */
function holdUntil(
  { heldUntil }: ProtectionState,
  facts: SweepFacts,
  now: number,
  policy: SweepPolicy,
): number | undefined {
  const mayPause = heldUntil === undefined || now >= heldUntil + policy.leaseMs;
  return facts.beatingAgain > 0 && mayPause ? now + policy.leaseMs : heldUntil;
}

/** A gap does not count towards the time box. */
function afterGap(before: ProtectionState, { from, to }: Gap, now: number): ProtectionState {
  const { until, boxUntil, heldUntil } = shifted(before, to - from);
  return { ...before, until, boxUntil, heldUntil, lastSweepAt: now };
}

/** The period without sweeps, if the last sweep was too long ago. */
function findGap(before: ProtectionState, now: number, policy: SweepPolicy): Gap | null {
  const due = before.lastSweepAt === null ? now : before.lastSweepAt + policy.sweepEveryMs;
  return now - due > policy.toleranceMs ? { from: due, to: now } : null;
}

/** Completes a verdict with an explanation for operators. */
function decision(
  state: ProtectionState,
  facts: SweepFacts,
  policy: ProtectionPolicy,
  verdict: Verdict,
): ProtectionDecision {
  const { fleet, suspect, expired } = facts;
  const { reason, mayEvict, gap = null, clockBackMs = 0 } = verdict;
  const share = silentShare(facts);
  const numbers = { fleet, suspect, expired, silentShare: share, threshold: policy.threshold, mayEvict };
  const { mode, since, until } = state;
  const text = explain(verdict, numbers, policy);
  return { state, mayEvict, gap, clockBackMs, explanation: { state: mode, since, until, reason, text, numbers } };
}

function explain(
  { reason, gap, clockBackMs }: Verdict,
  { fleet, suspect, expired, silentShare: share, mayEvict }: ProtectionExplanation['numbers'],
  policy: ProtectionPolicy,
): string {
  const silent = `${suspect + expired} of ${fleet} agents are silent (${Math.round(share * 100)} %)`;
  const limit = `${Math.round(policy.threshold * 100)} %`;
  switch (reason) {
    case 'healthy':
      return 'All agents send heartbeats.';
    case 'few_silent':
      return `${silent}, which is at most ${limit} or fewer than ${policy.fewest} agents: expired agents are evicted.`;
    case 'mass_silence':
      return `${silent}, more than ${limit}: the cause may be the registry or the network, so no agent is evicted for now.`;
    case 'time_box_over':
      return `${silent}, and the waiting time is over: at most ${policy.evictionsPerMinute} agents per minute are evicted, ${mayEvict} now.`;
    case 'healing':
      return `${silent}, and agents are recovering: no agent is evicted for the duration of a lease.`;
    case 'healed':
      return `${silent}, and protection has ended: each silent agent gets a full lease from now on.`;
    case 'operator':
      return mayEvict > 0 || expired === 0
        ? `An operator has overridden self-preservation; ${silent}.`
        : `An operator keeps protection on, so no agent is evicted; ${silent}.`;
    case 'gap':
      return `No sweep ran for ${(gap?.to ?? 0) - (gap?.from ?? 0)} ms: all leases are extended by that time.`;
    case 'clock_back':
      return `The clock of the database was set back by ${clockBackMs} ms: stored times were corrected, and no agent is evicted.`;
  }
}
