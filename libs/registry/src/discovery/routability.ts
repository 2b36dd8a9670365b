import type { AgentBudget } from '../agents/agent.record.js';
import { bindingBudgetOf, exhaustedUnit } from '../budgets/binding.budget.js';
import { conditionOf, DEFAULT_LOW_BUDGET, type Budget, type LowBudgetPolicy } from '../budgets/budget.js';
import { circuitPhase, nextCircuitChange, probeIsFree } from '../circuit/circuit.breaker.js';
import type { DirectoryEntry } from './directory.entry.js';

/** Why an agent is no candidate. Stable: programs compare it. */
export type ExclusionCode =
  | 'quarantined'
  | 'draining'
  | 'flapping'
  | 'circuit_open'
  | 'circuit_probing'
  | 'budget_exhausted'
  | 'capability_missing'
  | 'capability_unwanted'
  | 'provider_mismatch'
  | 'sandbox_level'
  | 'price_unknown'
  | 'price_too_high'
  | 'tokens_too_few'
  | 'label_mismatch';

export interface Exclusion {
  code: ExclusionCode;
  text: string;
  eligibleWhen: {
    text: string;
    /** Known only where waiting helps. */
    inMs?: number;
  };
}

export { DEFAULT_LOW_BUDGET, type LowBudgetPolicy };

/** By its budgets where they are known, each with a mark of its own; else by what its record says. */
export function isLow({ record, budgets }: DirectoryEntry, policy: LowBudgetPolicy): boolean {
  if (!budgets || budgets.length === 0) return isLowBudget(record.budget, policy);
  return budgets.some((budget) => conditionOf(budget, policy) !== 'ample');
}

export function isLowBudget(budget: AgentBudget, policy: LowBudgetPolicy): boolean {
  const { remaining, totalTokens } = budget;
  if (remaining === null) return false;
  return remaining < policy.tokens || (totalTokens !== null && remaining < totalTokens * policy.fraction);
}

/**
 * Health, circuit, desired state, damping and budget as one answer: routable when the list is empty. A suspect agent stays
 * routable, only after the others: in an outage of ours the whole fleet is suspect, and all of it may be well. So does one
 * whose circuit is half open with the probe slot free: without a call it could never close.
 */
export function routability(entry: DirectoryEntry, now: number): Exclusion[] {
  const found = [operatorIntent(entry), damping(entry, now), circuitState(entry, now), budgetLeft(entry, now)];
  return found.filter((exclusion) => exclusion !== undefined);
}

export function isRoutable(entry: DirectoryEntry, now: number): boolean {
  return !operatorIntent(entry) && !damping(entry, now) && !circuitState(entry, now) && !budgetLeft(entry, now);
}

/** The next moment at which time alone changes what routability or health say; Infinity when it never does. */
export function nextChangeAt(entry: DirectoryEntry, now: number): number {
  const moments = [nextCircuitChange(entry.circuit, now), entry.suspectAt, entry.dampedUntil];
  return moments.reduce<number>(
    (next, at) => (at !== null && at !== undefined && at > now && at < next ? at : next),
    Infinity,
  );
}

function operatorIntent({ record }: DirectoryEntry): Exclusion | undefined {
  if (record.desiredState === 'active') return undefined;
  const text =
    record.desiredState === 'draining'
      ? 'an operator is draining it: it finishes its tasks and takes no new ones'
      : 'an operator has quarantined it';
  return { code: record.desiredState, text, eligibleWhen: { text: 'an operator resumes it' } };
}

function damping({ dampedUntil }: DirectoryEntry, now: number): Exclusion | undefined {
  if (dampedUntil === null || dampedUntil <= now) return undefined;
  const text = 'it came and went too often';
  return {
    code: 'flapping',
    text,
    eligibleWhen: waiting('it is trusted again, if it does not leave,', dampedUntil - now),
  };
}

function circuitState({ circuit: state }: DirectoryEntry, now: number): Exclusion | undefined {
  const phase = circuitPhase(state, now);
  if (phase === 'closed' || probeIsFree(state, now)) return undefined;
  if (phase === 'open') {
    const text = `its circuit is open after ${state.consecutiveFailures} failures in a row`;
    const inMs = (state.openUntil ?? now) - now;
    return { code: 'circuit_open', text, eligibleWhen: waiting('its circuit lets a probe through', inMs) };
  }
  const inMs = (state.probe?.expiresAt ?? now) - now;
  const text = 'its circuit is half open and another caller is probing it';
  return { code: 'circuit_probing', text, eligibleWhen: waiting('the probe has ended, at the latest', inMs) };
}

function budgetLeft({ record, budgets = [] }: DirectoryEntry, now: number): Exclusion | undefined {
  if (record.budget.remaining === null || record.budget.remaining > 0) return undefined;
  const binding = bindingBudgetOf(budgets);
  const unit = binding && exhaustedUnit(binding);
  if (binding && unit) return spent(binding, unit, now);
  const text = `its budget of ${record.budget.totalTokens ?? 0} tokens is used up`;
  return { code: 'budget_exhausted', text, eligibleWhen: { text: 'its token budget is topped up or refreshed' } };
}

function spent({ window, windowEnd, limit }: Budget, unit: 'tokens' | 'microUsd', now: number): Exclusion {
  const most = unit === 'tokens' ? `${limit.tokens} tokens` : `${limit.microUsd} micro-dollars`;
  const text = `its ${window === 'total' ? '' : `${window} `}budget of ${most} is used up`;
  const topUp = 'its budget is topped up';
  const eligibleWhen =
    windowEnd === null ? { text: topUp } : waiting(`${topUp}, or begins anew`, Math.max(0, windowEnd - now));
  return { code: 'budget_exhausted', text, eligibleWhen };
}

function waiting(text: string, inMs: number): Exclusion['eligibleWhen'] {
  return { text: `${text} in ${inMs < 1_000 ? `${inMs} ms` : `${Math.ceil(inMs / 1_000)} s`}`, inMs };
}
