import { ALL_NAMESPACES, namespaceOf } from '#rollcall/platform';
import type { AgentBudget } from '../agents/agent.record.js';
import { type BudgetWindow, nextWindow } from './budget.window.js';
import { chargeOfReport, type ReportState } from './ledger/reported.usage.js';

/**
 * Whose spending a budget limits. A `run` is one node of a delegation tree. A budget of the kind `namespace` limits all spending in
 * that namespace, and a budget of the kind `fleet` limits the spending of all namespaces together.
 */
export const BUDGET_KINDS = ['agent', 'caller', 'run', 'namespace', 'fleet'] as const;
export type BudgetKind = (typeof BUDGET_KINDS)[number];
/** The only subject of budgets of the kind `fleet`. */
export const FLEET = 'fleet';

/** A budget counts tokens, and money in whole micro-dollars. */
export const UNITS = ['tokens', 'microUsd'] as const;
export type Unit = (typeof UNITS)[number];
export type Amount = Record<Unit, number>;
/** Null means unlimited. */
export type Limit = Record<Unit, number | null>;

export const ZERO: Amount = { tokens: 0, microUsd: 0 };
/** The largest amount of one operation. */
export const MAX_AMOUNT = 1_000_000_000_000;
/** The largest counter or limit. JavaScript and JSON clients do not represent larger integers exactly. */
export const MAX_COUNT = Number.MAX_SAFE_INTEGER;

/**
 * A budget and its counters, which are whole numbers. `used` is the amount charged in the current window, and `reserved` is the
 * amount held by open reservations. Both include descendant runs; `own` is the part of `used` without them.
 */
export interface Budget {
  readonly id: number;
  readonly kind: BudgetKind;
  /** The qualified id of the agent, caller or run; the name of the namespace; or `fleet`. */
  readonly subject: string;
  readonly window: BudgetWindow;
  readonly timeZone: string;
  /** The ids of the budgets of the ancestor runs, the root first. */
  readonly path: readonly number[];
  readonly limit: Limit;
  /** The budget is low when less than this is left. Null means that the policy decides. */
  readonly low: Limit;
  readonly used: Amount;
  readonly own: Amount;
  readonly reserved: Amount;
  readonly reports: ReportState;
  readonly windowStart: number;
  readonly windowEnd: number | null;
  /** Where the usage is counted: `ledger`, `reported` (by the agent), or a usage source such as `langfuse`. */
  readonly source: string;
  /** Whether the agent declared the limit, and no operator has changed it. */
  readonly declared: boolean;
  /** The number of writes, so that stale versions are recognised. */
  readonly version: number;
}

/** The namespace that a budget belongs to. The budget of the fleet belongs to all of them. */
export function namespaceOfBudget({ kind, subject }: Pick<Budget, 'kind' | 'subject'>): string {
  if (kind === 'fleet') return ALL_NAMESPACES;
  return kind === 'namespace' ? subject : namespaceOf(subject);
}

export interface LowBudgetPolicy {
  /** A budget is low when less than this share of its limit is left. */
  fraction: number;
  /** The budget of an agent is also low when fewer tokens than this are left. */
  tokens: number;
}

export const DEFAULT_LOW_BUDGET: LowBudgetPolicy = { fraction: 0.1, tokens: 20_000 };

/** Returns the budget in the window of `now`. If its window has ended, a new one begins with nothing used. */
export function rolled(budget: Budget, now: number): Budget {
  if (budget.windowEnd === null || now < budget.windowEnd) return budget;
  const { start, end } = nextWindow(budget.window, now, budget.timeZone);
  return { ...budget, used: ZERO, own: ZERO, windowStart: start, windowEnd: end };
}

/** The amount that can still be reserved; null means unlimited. */
export function available({ limit, used, reserved }: Budget): Limit {
  const left = (unit: Unit): number | null => {
    const most = limit[unit];
    return most === null ? null : Math.max(0, most - used[unit] - reserved[unit]);
  };
  return { tokens: left('tokens'), microUsd: left('microUsd') };
}

/** The amount that is not charged yet, including open reservations; null means unlimited. */
export function remaining({ limit, used }: Budget): Limit {
  const left = (unit: Unit): number | null => {
    const most = limit[unit];
    return most === null ? null : Math.max(0, most - used[unit]);
  };
  return { tokens: left('tokens'), microUsd: left('microUsd') };
}

/** Returns the first unit that has too little left for the request, if any. At the limit, even a request for 0 is rejected. */
export function insufficientUnit(budget: Budget, requested: Amount): Unit | undefined {
  const left = available(budget);
  return UNITS.find((unit) => {
    const most = left[unit];
    return most !== null && (requested[unit] > most || most === 0);
  });
}

/** Returns the unit in which the sum would exceed `MAX_COUNT`, if any. */
export function overflowingUnit(counter: Amount, amount: Amount): Unit | undefined {
  return UNITS.find((unit) => counter[unit] > MAX_COUNT - amount[unit]);
}

export function reserveAmount(budget: Budget, amount: Amount): Budget {
  return { ...budget, reserved: plus(budget.reserved, amount) };
}

export function releaseAmount(budget: Budget, amount: Amount): Budget {
  return { ...budget, reserved: minus(budget.reserved, amount) };
}

/** Charges the amount in full, even beyond the limit, because it was already spent. */
export function charge(budget: Budget, amount: Amount, own: boolean): Budget {
  const charged = { ...budget, used: plus(budget.used, amount) };
  return own ? { ...charged, own: plus(budget.own, amount) } : charged;
}

/** The budget after a write. */
export function nextVersion(budget: Budget): Budget {
  return { ...budget, version: budget.version + 1 };
}

export type BudgetCondition = 'ample' | 'low' | 'exhausted';

/** Uses charged amounts only, because open reservations may be released. */
export function conditionOf(budget: Budget, policy: LowBudgetPolicy): BudgetCondition {
  const left = remaining(budget);
  if (UNITS.some((unit) => left[unit] === 0)) return 'exhausted';
  const isLow = (unit: Unit): boolean => {
    const most = left[unit];
    return most !== null && most < lowThreshold(budget, unit, policy);
  };
  return UNITS.some(isLow) ? 'low' : 'ample';
}

function lowThreshold({ kind, limit, low }: Budget, unit: Unit, policy: LowBudgetPolicy): number {
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

/** The larger count of each unit. */
export function atLeast(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(one.tokens, other.tokens), microUsd: Math.max(one.microUsd, other.microUsd) };
}

export function isZero({ tokens, microUsd }: Amount): boolean {
  return tokens === 0 && microUsd === 0;
}

/** Returns the most restrictive of several budgets: an exhausted one, else the one with the fewest remaining tokens. */
export function bindingBudgetOf(budgets: readonly Budget[]): Budget | undefined {
  return budgets.length > 1 ? budgets.toSorted(byTightness)[0] : budgets[0];
}

/** Returns the budget as the agent's record shows it. If the money is used up, no tokens remain either. */
export function toAgentBudget(binding: Budget): AgentBudget {
  const { limit, used, source } = binding;
  const left = exhaustedUnit(binding) ? 0 : remaining(binding).tokens;
  return { totalTokens: limit.tokens, usedTokens: used.tokens, remaining: left, source };
}

/** Returns the unit of which nothing is left, if there is one. */
export function exhaustedUnit(budget: Budget): Unit | undefined {
  const left = remaining(budget);
  return UNITS.find((unit) => left[unit] === 0);
}

/** Returns the budget with the usage from the agent's last heartbeat, which the ledger may not contain yet. */
export function withReported(budget: Budget, reported: number): Budget {
  if (budget.window !== 'total' || budget.source !== 'reported') return budget;
  const tokens = chargeOfReport(budget, reported);
  return tokens === 0 ? budget : { ...budget, used: { ...budget.used, tokens: budget.used.tokens + tokens } };
}

/** Among exhausted budgets, a budget without a window comes first, because it does not start again by itself. */
function byTightness(one: Budget, other: Budget): number {
  const exhausted = (budget: Budget): number => (exhaustedUnit(budget) ? 0 : 1);
  const ends = ({ windowEnd }: Budget): number => -(windowEnd ?? Number.MAX_SAFE_INTEGER);
  const left = (budget: Budget): number => remaining(budget).tokens ?? Number.MAX_SAFE_INTEGER;
  return (
    exhausted(one) - exhausted(other) ||
    (exhausted(one) === 0 ? ends(one) - ends(other) : left(one) - left(other)) ||
    one.id - other.id
  );
}
