import type { AgentBudget } from '../agents/agent.record.js';
import { remaining, UNITS, type Budget, type Unit } from './budget.js';

/** Of several budgets the one that binds: exhausted before others, then by the tokens left. */
export function bindingBudgetOf(budgets: readonly Budget[]): Budget | undefined {
  return budgets.length > 1 ? budgets.toSorted(byTightness)[0] : budgets[0];
}

/** The budget as the agent's record shows it. Where money is what has run out, no tokens remain either. */
export function toAgentBudget(binding: Budget): AgentBudget {
  const { limit, used, source } = binding;
  const left = exhaustedUnit(binding) ? 0 : remaining(binding).tokens;
  return { totalTokens: limit.tokens, usedTokens: used.tokens, remaining: left, source };
}

/** The unit of which nothing is left, if there is one. */
export function exhaustedUnit(budget: Budget): Unit | undefined {
  const left = remaining(budget);
  return UNITS.find((unit) => left[unit] === 0);
}

/** With what the agent told by its last beat, which the ledger may not know yet. */
export function withReported(budget: Budget, reported: number): Budget {
  if (budget.window !== 'total' || budget.source !== 'reported' || reported <= budget.used.tokens) return budget;
  return { ...budget, used: { ...budget.used, tokens: reported } };
}

/** The one without a window first among the exhausted, because it does not pass by waiting. */
function byTightness(one: Budget, other: Budget): number {
  const spent = (budget: Budget): number => (exhaustedUnit(budget) ? 0 : 1);
  const ends = ({ windowEnd }: Budget): number => -(windowEnd ?? Number.MAX_SAFE_INTEGER);
  const left = (budget: Budget): number => remaining(budget).tokens ?? Number.MAX_SAFE_INTEGER;
  return (
    spent(one) - spent(other) ||
    (spent(one) === 0 ? ends(one) - ends(other) : left(one) - left(other)) ||
    one.id - other.id
  );
}
