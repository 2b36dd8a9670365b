import { Injectable } from '@nestjs/common';
import { inBatches, Periodic } from '#rollcall/platform';
import { BudgetLedger } from './ledger/budget.ledger.js';
import { usageCorrection } from './ledger/correction.js';
import type { LedgerOp } from './ledger/ledger.operation.js';
import { BudgetStore, type UsageReport } from './store/budget.store.js';
import { LedgerStore } from './store/ledger.store.js';
import { ReconciliationStore } from './store/reconciliation.store.js';

interface BudgetSweep {
  /** Reservations that were neither settled nor released in time. */
  expired: number;
  /** Budgets whose new window has begun. */
  rolled: number;
  /** Budgets that were charged with usage from heartbeats. */
  reported: number;
}

export interface BudgetRetention {
  reservationsMs: number;
  linesMs: number;
  /** For trees of runs without activity. */
  runsMs: number;
}

const MAX_BATCH = 500;
const SWEEP_EVERY_MS = 1_000;
/** How often the reports of the whole fleet are checked, because a replica may die before it applies its reports. */
const CHECK_ALL_EVERY_MS = 60_000;

/**
 * Expires reservations of owners that crashed, begins new windows, and charges usage that agents reported. Any number of replicas
 * may sweep at the same time: the ledger decides each operation under its locks, so nothing is applied twice.
 */
@Injectable()
export class BudgetSweeper {
  /** Total usage by agentId from the heartbeats since the last sweep. The map only avoids a scan of the leases, which contain it too. */
  private readonly reports = new Map<string, number>();
  private checkedAllAt = -Infinity;

  constructor(
    private readonly budgets: BudgetStore,
    private readonly reservations: LedgerStore,
    private readonly ledger: BudgetLedger,
    private readonly reconciliation: ReconciliationStore,
  ) {}

  onHeartbeats(beats: readonly { agentId: string; usedTokens?: number }[]): void {
    for (const { agentId, usedTokens } of beats) {
      if (usedTokens !== undefined) this.reports.set(agentId, Math.max(usedTokens, this.reports.get(agentId) ?? 0));
    }
  }

  @Periodic('budgets.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<BudgetSweep> {
    return {
      expired: await inBatches(MAX_BATCH, async (limit) => await this.expire(limit)),
      rolled: await inBatches(MAX_BATCH, async (limit) => await this.roll(limit)),
      reported: await this.applyReports(),
    };
  }

  /** Deletes old reservations and trees of runs, and combines old ledger lines. Returns how many of these it deleted or combined. */
  async prune({ reservationsMs, linesMs, runsMs }: BudgetRetention): Promise<number> {
    const { reconciliation } = this;
    const reservations = await inBatches(
      MAX_BATCH,
      async (limit) => await reconciliation.pruneReservations(reservationsMs, limit),
    );
    const runs = await inBatches(MAX_BATCH, async (limit) => await reconciliation.pruneRuns(runsMs, limit));
    return (
      reservations + runs + (await inBatches(MAX_BATCH, async (limit) => await reconciliation.compact(linesMs, limit)))
    );
  }

  private async expire(limit: number): Promise<number> {
    const overdue = await this.reservations.overdue(limit);
    const outcomes = await this.ledger.applyAll(overdue.map((of): LedgerOp => ({ op: 'expire', of })));
    return outcomes.filter((outcome) => outcome.ok && !outcome.replayed).length;
  }

  private async roll(limit: number): Promise<number> {
    const ids = await this.budgets.endedWindows(limit);
    await this.ledger.applyAll(ids.map((budgetId): LedgerOp => ({ op: 'roll', budgetId })));
    return ids.length;
  }

  private async applyReports(): Promise<number> {
    const now = performance.now();
    if (now - this.checkedAllAt < CHECK_ALL_EVERY_MS) return await this.applyRecentReports();
    this.reports.clear();
    const applied = await inBatches(
      MAX_BATCH,
      async (limit) => await this.applyUsage(await this.budgets.allAheadOfLedger(limit)),
    );
    this.checkedAllAt = now;
    return applied;
  }

  /** Reports that arrive during this call wait for the next sweep, so that this sweep ends. */
  private async applyRecentReports(): Promise<number> {
    const reports = Array.from(this.reports, ([agentId, usedTokens]) => ({ agentId, usedTokens }));
    this.reports.clear();
    let applied = 0;
    try {
      for (let from = 0; from < reports.length; from += MAX_BATCH) {
        applied += await this.applyUsage(await this.budgets.aheadOfLedger(reports.slice(from, from + MAX_BATCH)));
      }
    } catch (error) {
      this.checkedAllAt = -Infinity; // the next sweep reads the rest from the leases
      throw error;
    }
    return applied;
  }

  private async applyUsage(reports: readonly UsageReport[]): Promise<number> {
    await this.ledger.applyAll(reports.map(usageCorrection));
    return reports.length;
  }
}
