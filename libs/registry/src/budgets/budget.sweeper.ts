import { Injectable } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import type { LedgerOp } from './ledger.batch.js';
import { LedgerStore } from './ledger.store.js';
import { ReconciliationStore } from './reconciliation.store.js';
import { usageCorrection, type UsageReport } from './usage.report.js';

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
const SWEEP_EVERY_MS = 1_000;
/** How often the whole fleet is asked what it reported, for reports whose replica died before it took them in. */
const ASK_ALL_EVERY_MS = 60_000;

/**
 * Gives back what dead owners held, begins windows that nobody else began, and takes in what agents reported. Any number of
 * replicas may sweep at once: each operation is decided again under its locks, so what another has done is not done twice.
 */
@Injectable()
export class BudgetSweeper {
  /** What agents told this replica since the last sweep. The leases have it too: this only says where to look. */
  private readonly told = new Map<string, number>();
  private askedAllAt = -Infinity;

  constructor(
    private readonly budgets: BudgetStore,
    private readonly reservations: LedgerStore,
    private readonly ledger: BudgetLedger,
    private readonly reconciliation: ReconciliationStore,
  ) {}

  onHeartbeats(beats: readonly { agentId: string; usedTokens?: number }[]): void {
    for (const { agentId, usedTokens } of beats) {
      if (usedTokens !== undefined) this.told.set(agentId, Math.max(usedTokens, this.told.get(agentId) ?? 0));
    }
  }

  @Periodic('budgets.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<BudgetSweep> {
    return {
      expired: await this.repeat(async () => await this.expire()),
      rolled: await this.repeat(async () => await this.roll()),
      reported: await this.applyReports(),
    };
  }

  /** Forgets ended reservations and runs, and sums up old lines of the ledger; answers how many went. */
  async prune({ reservationsMs, linesMs, runsMs }: BudgetRetention): Promise<number> {
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

  private async applyReports(): Promise<number> {
    const now = performance.now();
    if (now - this.askedAllAt < ASK_ALL_EVERY_MS) return await this.applyRecentReports();
    this.told.clear();
    const taken = await this.repeat(async () => await this.applyUsage(await this.budgets.reportedAhead(MOST_AT_ONCE)));
    this.askedAllAt = now;
    return taken;
  }

  /** What is told meanwhile is for the next sweep: this one must end, for the other things it does. */
  private async applyRecentReports(): Promise<number> {
    const told = Array.from(this.told, ([agentId, usedTokens]) => ({ agentId, usedTokens }));
    this.told.clear();
    let taken = 0;
    try {
      for (let from = 0; from < told.length; from += MOST_AT_ONCE) {
        taken += await this.applyUsage(await this.budgets.behind(told.slice(from, from + MOST_AT_ONCE)));
      }
    } catch (error) {
      this.askedAllAt = -Infinity; // the next sweep finds the rest in the leases
      throw error;
    }
    return taken;
  }

  private async applyUsage(reports: readonly UsageReport[]): Promise<number> {
    await this.ledger.applyAll(reports.map(usageCorrection));
    return reports.length;
  }

  /** In transactions that stay short, until less than a full one is left. */
  private async repeat(pass: () => Promise<number>): Promise<number> {
    let total = 0;
    for (let done = MOST_AT_ONCE; done === MOST_AT_ONCE; total += done) done = await pass();
    return total;
  }
}
