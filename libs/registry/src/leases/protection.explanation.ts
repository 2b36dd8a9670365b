import {
  silentShare,
  type Gap,
  type ProtectionMode,
  type ProtectionPolicy,
  type ProtectionState,
  type SweepFacts,
} from './protection.state.js';

export type ProtectionReason =
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

/** Completes a verdict with an explanation for operators. */
export function decision(
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
