import type { AgentBudget } from '../agents/agent.record.js';
import { remaining, UNITS, type Budget, type Unit } from './budget.js';
import { chargeOfReport } from './reported.usage.js';

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
