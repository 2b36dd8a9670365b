import type { AgentBudget, DesiredState } from '../../agents/agent.record.js';
import {
  bindingBudgetOf,
  type Budget,
  conditionOf,
  exhaustedUnit,
  type LowBudgetPolicy,
} from '../../budgets/budget.js';
import { circuitPhase, nextCircuitChange, probeIsFree } from '../../circuit/circuit.breaker.js';
import type { DirectoryEntry } from '../directory/directory.entry.js';

/** The reason why an agent is not a candidate. These codes are part of the API and must not change. */
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
  | 'label_mismatch'
  | 'left';

export interface Exclusion {
  code: ExclusionCode;
  text: string;
  eligibleWhen: {
    text: string;
    /** Only present if the agent becomes eligible by waiting. */
    inMs?: number;
  };
}

/** Checks each known budget against its own threshold; without budgets, checks the budget in the record. */
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
 * Combines desired state, flap damping, circuit and budget: the agent is routable if the list is empty. A suspect agent stays
 * routable but ranks after healthy ones, because during an outage of the registry the whole fleet may be suspect although it
 * works. An agent with a half-open circuit and a free probe slot is routable too: without a call the circuit could not close.
 */
export function routability(entry: DirectoryEntry, now: number): Exclusion[] {
  const found = [
    operatorIntent(entry.record.desiredState),
    damping(entry, now),
    circuitState(entry, now),
    budgetLeft(entry, now),
  ];
  return found.filter((exclusion) => exclusion !== undefined);
}

export function isRoutable(entry: DirectoryEntry, now: number): boolean {
  if (operatorIntent(entry.record.desiredState)) return false;
  return !damping(entry, now) && !circuitState(entry, now) && !budgetLeft(entry, now);
}

/** The next time at which the circuit or the routability of the agent changes without a write; Infinity if neither does. */
export function nextChangeAt(entry: DirectoryEntry, now: number): number {
  const moments = [nextCircuitChange(entry.circuit, now), entry.dampedUntil];
  return moments.reduce<number>(
    (next, at) => (at !== null && at !== undefined && at > now && at < next ? at : next),
    Infinity,
  );
}

/** The only function that decides whether an operator allows an agent to get work (R-4). All protocols and all kinds of agents use it. */
export function operatorIntent(desiredState: DesiredState): Exclusion | undefined {
  if (desiredState === 'active') return undefined;
  const text =
    desiredState === 'draining'
      ? 'an operator is draining it: it finishes its tasks and gets no new ones'
      : 'an operator has quarantined it';
  return { code: desiredState, text, eligibleWhen: { text: 'an operator resumes it' } };
}

function damping({ dampedUntil }: DirectoryEntry, now: number): Exclusion | undefined {
  if (dampedUntil === null || dampedUntil <= now) return undefined;
  const text = 'it left and registered again too often';
  return {
    code: 'flapping',
    text,
    eligibleWhen: waiting('it stays registered until its penalty expires', dampedUntil - now),
  };
}

function circuitState({ circuit: state }: DirectoryEntry, now: number): Exclusion | undefined {
  const phase = circuitPhase(state, now);
  if (phase === 'closed' || probeIsFree(state, now)) return undefined;
  if (phase === 'open') {
    const text = `its circuit is open after ${state.consecutiveFailures} failures in a row`;
    const inMs = (state.openUntil ?? now) - now;
    return { code: 'circuit_open', text, eligibleWhen: waiting('its circuit admits a probe', inMs) };
  }
  const inMs = (state.probe?.expiresAt ?? now) - now;
  const text = 'its circuit is half open and another caller is probing it';
  return { code: 'circuit_probing', text, eligibleWhen: waiting('the probe has ended, at the latest', inMs) };
}

function budgetLeft({ record, budgets = [] }: DirectoryEntry, now: number): Exclusion | undefined {
  if (record.budget.remaining === null || record.budget.remaining > 0) return undefined;
  const binding = bindingBudgetOf(budgets);
  const unit = binding && exhaustedUnit(binding);
  if (binding && unit) return exhaustedBudget(binding, unit, now);
  const text = `its budget of ${record.budget.totalTokens ?? 0} tokens is used up`;
  return { code: 'budget_exhausted', text, eligibleWhen: { text: 'its token budget is topped up or refreshed' } };
}

function exhaustedBudget({ window, windowEnd, limit }: Budget, unit: 'tokens' | 'microUsd', now: number): Exclusion {
  const most = unit === 'tokens' ? `${limit.tokens} tokens` : `${limit.microUsd} micro-dollars`;
  const text = `its ${window === 'total' ? '' : `${window} `}budget of ${most} is used up`;
  const topUp = 'its budget is topped up';
  const eligibleWhen =
    windowEnd === null ? { text: topUp } : waiting(`${topUp}, or its next window begins`, Math.max(0, windowEnd - now));
  return { code: 'budget_exhausted', text, eligibleWhen };
}

function waiting(text: string, inMs: number): Exclusion['eligibleWhen'] {
  return { text: `${text} in ${inMs < 1_000 ? `${inMs} ms` : `${Math.ceil(inMs / 1_000)} s`}`, inMs };
}
