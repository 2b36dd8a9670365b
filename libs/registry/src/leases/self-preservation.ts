import { decision, type ProtectionDecision } from './protection.explanation.js';
import {
  isTimeBoxOver,
  mayForgive,
  nextState,
  shifted,
  type Gap,
  type ProtectionState,
  type SweepFacts,
  type SweepPolicy,
} from './protection.state.js';

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
