import type { Database } from '#rollcall/platform';
import { eventsOf, type TestEvents } from '#rollcall/platform/testing';
import type { BudgetRules } from '../registry.options.js';
import { type BudgetParts, budgetsOf } from './budget-parts.js';
import { registryModule } from './test-registry.js';

export interface TestBudgets extends BudgetParts {
  feed: TestEvents;
}

/** The budget services of one replica on this database. No periodic work runs. */
export async function testBudgets(db: Database, budgets: BudgetRules = {}): Promise<TestBudgets> {
  const module = await registryModule(db, { budgets });
  return { ...budgetsOf(module), feed: eventsOf(module) };
}

/** Expects that every counter of every budget equals the sum of its ledger lines. */
export async function expectSound({ reconciliation }: Pick<BudgetParts, 'reconciliation'>): Promise<void> {
  const { checked, discrepancies } = await reconciliation.reconcile();
  expect(checked).toBeGreaterThan(0);
  expect(discrepancies).toEqual([]);
}
