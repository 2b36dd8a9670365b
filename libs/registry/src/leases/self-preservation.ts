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
 * Decides what one sweep may do. When more of the fleet is silent than the threshold, the likelier cause is on our side, so
 * agents are only suspected; after a time box they are evicted at a limited rate, because some day they are really gone.
 * Suspects count as silent: agents do not expire in the same sweep, so the first to expire announces the others. Protection
 * ends when the share is back below the threshold; silence until then is forgiven, because agents come back one after the
 * other. Time in which we could not have heard anyone is given back to every lease before anything is decided, and a clock
 * that went back moves everything that was decided by it.
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

/** Protection has just ended. Agents that have not been heard yet have a full lease from this moment. */
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
  const left = Math.min(state.credit - mayEvict, 1); // what was not needed is not saved up for a burst
  return decision({ ...state, heldUntil, credit: left }, facts, policy, { reason: 'time_box_over', mayEvict });
}

/** Agents that come back show that the fault heals. At most half of the time is spent waiting for the others. */
function holdUntil(
  { heldUntil }: ProtectionState,
  facts: SweepFacts,
  now: number,
  policy: SweepPolicy,
): number | undefined {
  const isRested = heldUntil === undefined || now >= heldUntil + policy.leaseMs;
  return facts.beatingAgain > 0 && isRested ? now + policy.leaseMs : heldUntil;
}

/** Time in which nobody could beat is no part of the time box. */
function afterGap(before: ProtectionState, { from, to }: Gap, now: number): ProtectionState {
  const { until, boxUntil, heldUntil } = shifted(before, to - from);
  return { ...before, until, boxUntil, heldUntil, lastSweepAt: now };
}

/** The period in which no sweep ran, if the last one was too long ago. */
function findGap(before: ProtectionState, now: number, policy: SweepPolicy): Gap | null {
  const due = before.lastSweepAt === null ? now : before.lastSweepAt + policy.sweepEveryMs;
  return now - due > policy.toleranceMs ? { from: due, to: now } : null;
}
