import type { Provider } from '@nestjs/common';
import { Database, EventOutbox, NamespaceAdmission, NO_QUOTA } from '#rollcall/platform';
import type { BudgetRules } from '../registry.options.js';
import { AgentBudgets } from './agent.budgets.js';
import { DEFAULT_LOW_BUDGET } from './budget.js';
import { BudgetEvents } from './budget.events.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStatus } from './budget.status.js';
import { BudgetStore } from './budget.store.js';
import { BudgetSweeper } from './budget.sweeper.js';
import { BudgetsService } from './budgets.service.js';
import { LedgerStore } from './ledger.store.js';
import { ReconciliationStore } from './reconciliation.store.js';
import { DEFAULT_SPENDING_LIMITS } from './spending.limits.js';
import { UsageLoops } from './usage.loops.js';
import { UsageRefresher } from './usage.refresher.js';

const DEFAULT_RUN_DEPTH = 32;

/** The providers for budgets and the ledger. */
export function budgetProviders(rules: BudgetRules = {}): Provider[] {
  const { low = DEFAULT_LOW_BUDGET, limits = DEFAULT_SPENDING_LIMITS, clock } = rules;
  const { runDepth = DEFAULT_RUN_DEPTH, heldQuota: quota = NO_QUOTA } = rules;
  return [
    BudgetStatus,
    BudgetStore,
    LedgerStore,
    ReconciliationStore,
    AgentBudgets,
    BudgetSweeper,
    UsageRefresher,
    UsageLoops,
    {
      provide: BudgetEvents,
      inject: [Database, EventOutbox],
      useFactory: (db: Database, outbox: EventOutbox) => new BudgetEvents(db, outbox, low),
    },
    {
      provide: BudgetLedger,
      inject: [Database, LedgerStore, BudgetEvents, NamespaceAdmission],
      useFactory: (db: Database, store: LedgerStore, events: BudgetEvents, namespaces: NamespaceAdmission) =>
        new BudgetLedger(db, store, events, namespaces, { limits, quota, clock }),
    },
    {
      provide: BudgetsService,
      inject: [Database, BudgetStore, BudgetLedger, BudgetEvents],
      useFactory: (db: Database, store: BudgetStore, ledger: BudgetLedger, events: BudgetEvents) =>
        new BudgetsService(db, store, ledger, events, runDepth),
    },
  ];
}
