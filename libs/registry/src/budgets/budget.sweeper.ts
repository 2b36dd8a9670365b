import { Injectable } from '@nestjs/common';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import type { LedgerOp } from './ledger.batch.js';
import { LedgerStore } from './ledger.store.js';
import { ReconciliationStore } from './reconciliation.store.js';
import { takingIn } from './usage.report.js';

export interface BudgetSweep {
  /** Reservations whose owner has neither settled nor released them in time. */
  expired: number;
  /** Budgets whose new window has begun. */
  rolled: number;
  /** Budgets that learned of use by a heartbeat. */
  reported: number;
}

export interface BudgetRetention {
  reservationsMs: number;
  linesMs: number;
  /** Of trees of runs in which nothing happens any more. */
  runsMs: number;
}

const MOST_AT_ONCE = 500;

/**
 * Gives back what dead owners held, begins windows that nobody else began, and takes in what agents reported. Any number of
 * replicas may sweep at once: each operation is decided again under its locks, so what another has done is not done twice.
 */
@Injectable()
export class BudgetSweeper {
  constructor(
    private readonly budgets: BudgetStore,
    private readonly reservations: LedgerStore,
    private readonly ledger: BudgetLedger,
    private readonly reconciliation: ReconciliationStore,
  ) {}

  async sweep(): Promise<BudgetSweep> {
    return {
      expired: await this.repeat(async () => await this.expire()),
      rolled: await this.repeat(async () => await this.roll()),
      reported: await this.repeat(async () => await this.takeReports()),
    };
  }

  /** Forgets ended reservations and runs, and sums up old lines of the ledger; answers how many went. */
  async forget({ reservationsMs, linesMs, runsMs }: BudgetRetention): Promise<number> {
    const { reconciliation } = this;
    const reservations = await this.repeat(
      async () => await reconciliation.pruneReservations(reservationsMs, MOST_AT_ONCE),
    );
    const runs = await this.repeat(async () => await reconciliation.pruneRuns(runsMs, MOST_AT_ONCE));
    return reservations + runs + (await this.repeat(async () => await reconciliation.compact(linesMs, MOST_AT_ONCE)));
  }

  private async expire(): Promise<number> {
    const overdue = await this.reservations.overdue(MOST_AT_ONCE);
    const outcomes = await this.ledger.applyAll(overdue.map((of): LedgerOp => ({ op: 'expire', of })));
    return outcomes.filter((outcome) => outcome.ok && !outcome.replayed).length;
  }

  private async roll(): Promise<number> {
    const ids = await this.budgets.endedWindows(MOST_AT_ONCE);
    await this.ledger.applyAll(ids.map((budgetId): LedgerOp => ({ op: 'roll', budgetId })));
    return ids.length;
  }

  private async takeReports(): Promise<number> {
    const ahead = await this.budgets.reportedAhead(MOST_AT_ONCE);
    await this.ledger.applyAll(ahead.map(takingIn));
    return ahead.length;
  }

  /** In transactions that stay short, until less than a full one is left. */
  private async repeat(pass: () => Promise<number>): Promise<number> {
    let total = 0;
    for (let done = MOST_AT_ONCE; done === MOST_AT_ONCE; total += done) done = await pass();
    return total;
  }
}
