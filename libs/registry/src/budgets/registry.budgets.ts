import type { Database, RegistryEvents } from '#rollcall/platform';
import { NO_QUOTA, type Quota } from '../quota.js';
import { AgentBudgets } from './agent.budgets.js';
import { USUAL_LOW_BUDGET, type LowBudgetPolicy } from './budget.js';
import { BudgetEvents } from './budget.events.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import { BudgetSweeper } from './budget.sweeper.js';
import { BudgetsService } from './budgets.service.js';
import { LedgerStore } from './ledger.store.js';
import { ReconciliationStore } from './reconciliation.store.js';
import { USUAL_SPENDING_LIMITS, type SpendingLimits } from './spending.limits.js';
import { UsageRefresher } from './usage.refresher.js';

export interface RegistryBudgetsOptions {
  low?: LowBudgetPolicy;
  limits?: SpendingLimits;
  /** Levels of a tree of runs; 0 is no limit. */
  runDepth?: number;
  /** How many reservations one owner may hold. */
  heldQuota?: Quota;
  /** In tests, where windows end by hand. */
  clock?: () => number;
}

export const USUAL_RUN_DEPTH = 32;

/** The parts of the ledger on one database. */
export class RegistryBudgets {
  readonly low: LowBudgetPolicy;
  readonly events: BudgetEvents;
  readonly store: BudgetStore;
  readonly ledger: BudgetLedger;
  readonly budgets: BudgetsService;
  readonly agents: AgentBudgets;
  readonly sweeper: BudgetSweeper;
  readonly refresher: UsageRefresher;
  readonly reconciliation: ReconciliationStore;

  constructor(
    db: Database,
    { outbox }: RegistryEvents,
    { low = USUAL_LOW_BUDGET, clock, ...rules }: RegistryBudgetsOptions = {},
  ) {
    const { limits = USUAL_SPENDING_LIMITS, runDepth = USUAL_RUN_DEPTH, heldQuota: quota = NO_QUOTA } = rules;
    const reservations = new LedgerStore(db);
    this.low = low;
    this.events = new BudgetEvents(db, outbox, low);
    this.store = new BudgetStore(db);
    this.ledger = new BudgetLedger(db, reservations, this.events, { limits, quota, clock });
    this.budgets = new BudgetsService(db, this.store, this.ledger, this.events, runDepth);
    this.agents = new AgentBudgets(this.store, this.ledger);
    this.reconciliation = new ReconciliationStore(db);
    this.sweeper = new BudgetSweeper(this.store, reservations, this.ledger, this.reconciliation);
    this.refresher = new UsageRefresher(this.store, this.ledger);
  }
}
