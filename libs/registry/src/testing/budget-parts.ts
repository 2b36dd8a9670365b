import type { TestingModule } from '@nestjs/testing';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { BudgetEvents } from '../budgets/budget.events.js';
import { BudgetLedger } from '../budgets/ledger/budget.ledger.js';
import { BudgetStore } from '../budgets/store/budget.store.js';
import { BudgetSweeper } from '../budgets/budget.sweeper.js';
import { BudgetsService } from '../budgets/budgets.service.js';
import { ReconciliationStore } from '../budgets/store/reconciliation.store.js';
import { UsageRefresher } from '../budgets/usage.refresher.js';
import type { Budget } from '../budgets/budget.js';
import { given } from './given.js';

/** The services of one replica that handle budgets. */
export interface BudgetParts {
  events: BudgetEvents;
  store: BudgetStore;
  ledger: BudgetLedger;
  budgets: BudgetsService;
  agents: AgentBudgets;
  sweeper: BudgetSweeper;
  refresher: UsageRefresher;
  reconciliation: ReconciliationStore;
  /** The builders of documents, and a builder that opens a budget. */
  given: typeof given & { budget(...request: Parameters<typeof given.budgetRequest>): Promise<Budget> };
}

export function budgetsOf(module: TestingModule): BudgetParts {
  const anywhere = { strict: false };
  const budgets = module.get(BudgetsService, anywhere);
  return {
    events: module.get(BudgetEvents, anywhere),
    store: module.get(BudgetStore, anywhere),
    ledger: module.get(BudgetLedger, anywhere),
    budgets,
    agents: module.get(AgentBudgets, anywhere),
    sweeper: module.get(BudgetSweeper, anywhere),
    refresher: module.get(UsageRefresher, anywhere),
    reconciliation: module.get(ReconciliationStore, anywhere),
    given: { ...given, budget: async (...request) => await budgets.open(given.budgetRequest(...request)) },
  };
}
