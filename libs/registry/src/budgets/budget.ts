import { nextWindow, type BudgetWindow } from './budget.window.js';

/** Whose spending it limits. A `run` is one node of a delegation tree; the `fleet` is everybody together. */
export const BUDGET_KINDS = ['agent', 'caller', 'run', 'fleet'] as const;
export type BudgetKind = (typeof BUDGET_KINDS)[number];
/** The subject of the fleet's budgets: there is one fleet. */
export const FLEET = 'fleet';

/** What is counted: tokens, and money in whole micro-dollars. */
export const UNITS = ['tokens', 'microUsd'] as const;
export type Unit = (typeof UNITS)[number];
export type Amount = Record<Unit, number>;
/** Null is unlimited. */
export type Limit = Record<Unit, number | null>;

export const NOTHING: Amount = { tokens: 0, microUsd: 0 };
/** Of one operation: a quadrillion would still be far from where JavaScript's integers end. */
export const LARGEST_AMOUNT = 1_000_000_000_000;

/**
 * A budget and its counters. `used` is what was charged in the current window, `reserved` what is promised to calls under way;
 * both include the runs below, `own` does not. Every number is a whole one.
 */
export interface Budget {
  readonly id: number;
  readonly kind: BudgetKind;
  readonly subject: string;
  readonly window: BudgetWindow;
  readonly timeZone: string;
  /** The budgets of the runs above, the root first. */
  readonly path: readonly number[];
  readonly limit: Limit;
  /** Low when less than this is left; null leaves it to the policy. */
  readonly low: Limit;
  readonly used: Amount;
  readonly own: Amount;
  readonly reserved: Amount;
  readonly windowStart: number;
  readonly windowEnd: number | null;
  /** Who counts: `ledger`, `reported` by the agent, or a usage source such as `langfuse`. */
  readonly source: string;
  /** The limit is what the agent declared, and no operator has said otherwise. */
  readonly declared: boolean;
  /** Counts the writes, so that late news is recognised. */
  readonly version: number;
}

export interface LowBudgetPolicy {
  /** Low when less than this share of the total is left … */
  fraction: number;
  /** … or, of an agent, fewer tokens than this, whatever the total. */
  tokens: number;
}

export const DEFAULT_LOW_BUDGET: LowBudgetPolicy = { fraction: 0.1, tokens: 20_000 };

/** The same budget as of this moment: when its window is over, a new one begins with nothing used. It never goes back. */
export function rolled(budget: Budget, now: number): Budget {
  if (budget.windowEnd === null || now < budget.windowEnd) return budget;
  const { start, end } = nextWindow(budget.window, now, budget.timeZone);
  return { ...budget, used: NOTHING, own: NOTHING, windowStart: start, windowEnd: end };
}

/** What can still be reserved; null is without limit. */
export function available({ limit, used, reserved }: Budget): Limit {
  const left = (unit: Unit): number | null => {
    const most = limit[unit];
    return most === null ? null : Math.max(0, most - used[unit] - reserved[unit]);
  };
  return { tokens: left('tokens'), microUsd: left('microUsd') };
}

/** What is not charged yet, whoever may hold it; null is without limit. */
export function remaining({ limit, used }: Budget): Limit {
  const left = (unit: Unit): number | null => {
    const most = limit[unit];
    return most === null ? null : Math.max(0, most - used[unit]);
  };
  return { tokens: left('tokens'), microUsd: left('microUsd') };
}

/** The unit that does not allow it, if one does not. At the limit even nothing is too much: the next call is refused. */
export function shortOf(budget: Budget, ask: Amount): Unit | undefined {
  const left = available(budget);
  return UNITS.find((unit) => {
    const most = left[unit];
    return most !== null && (ask[unit] > most || most === 0);
  });
}

export function hold(budget: Budget, amount: Amount): Budget {
  return { ...budget, reserved: plus(budget.reserved, amount) };
}

export function letGo(budget: Budget, amount: Amount): Budget {
  return { ...budget, reserved: minus(budget.reserved, amount) };
}

/** In full, also beyond the limit: what was spent was spent. */
export function charge(budget: Budget, amount: Amount, own: boolean): Budget {
  const charged = { ...budget, used: plus(budget.used, amount) };
  return own ? { ...charged, own: plus(budget.own, amount) } : charged;
}

export type BudgetCondition = 'ample' | 'low' | 'exhausted';

/** By what was charged, not by what is held: a promise may yet come back. */
export function conditionOf(budget: Budget, policy: LowBudgetPolicy): BudgetCondition {
  const left = remaining(budget);
  if (UNITS.some((unit) => left[unit] === 0)) return 'exhausted';
  const isLow = (unit: Unit): boolean => {
    const most = left[unit];
    return most !== null && most < lowMark(budget, unit, policy);
  };
  return UNITS.some(isLow) ? 'low' : 'ample';
}

function lowMark({ kind, limit, low }: Budget, unit: Unit, policy: LowBudgetPolicy): number {
  const share = (limit[unit] ?? 0) * policy.fraction;
  const floor = kind === 'agent' && unit === 'tokens' ? policy.tokens : 0;
  return low[unit] ?? Math.max(share, floor);
}

export function plus(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, microUsd: one.microUsd + other.microUsd };
}

export function minus(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens - other.tokens, microUsd: one.microUsd - other.microUsd };
}

export function isNothing({ tokens, microUsd }: Amount): boolean {
  return tokens === 0 && microUsd === 0;
}
