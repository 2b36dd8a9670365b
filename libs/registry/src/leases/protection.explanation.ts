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
  /** How many of the expired may be evicted in this sweep; the others stay suspect. */
  mayEvict: number;
  /** Every lease gets this time back, and nobody is evicted before the next sweep has looked again. */
  gap: Gap | null;
  /** By how much the database's clock went back since the last sweep; 0 when it did not. */
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

/** A verdict with what an operator needs to understand it. */
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
      return 'Every agent is heard.';
    case 'few_silent':
      return `${silent}, no more than ${limit} or fewer than ${policy.fewest}: who has expired is evicted.`;
    case 'mass_silence':
      return `${silent}, more than ${limit}: the fault may be ours, so nobody is evicted for now.`;
    case 'time_box_over':
      return `${silent} after all the time we waited: evicting ${policy.evictionsPerMinute} a minute at most, ${mayEvict} now.`;
    case 'healing':
      return `${silent}, and agents are coming back: nobody is evicted for the length of a lease.`;
    case 'healed':
      return `${silent}, and protection has ended: each of them gets a full lease from now on.`;
    case 'operator':
      return mayEvict > 0 || expired === 0
        ? `An operator decided; ${silent}.`
        : `An operator holds protection on; ${silent}.`;
    case 'gap':
      return `Nobody could be heard for ${(gap?.to ?? 0) - (gap?.from ?? 0)} ms: every lease gets that time back.`;
    case 'clock_back':
      return `The clock of the database went back by ${clockBackMs} ms: times in its future were corrected, nobody is evicted.`;
  }
}
