import { Injectable } from '@nestjs/common';
import { isOutage, Periodic } from '#rollcall/platform';
import { ReservationRecovery } from '../../spending/reservation.recovery.js';
import type { RunFacts } from '../run.js';
import { isCallingModel } from '../run.step.js';
import { type OwnUsage, RunStore } from '../store/run.store.js';
import { chargesIn, sumOf } from './run.usage.js';

/** A live replica ends the reservations of a finished run itself, within this time. */
const LIVE_MS = 5_000;
const BATCH = 100;

type Payer = Pick<RunFacts, 'namespace' | 'id'>;

/**
 * Settles the reservations and stores the usage of runs for which no execution does it, because they were cancelled or their replica is
 * gone. It needs only the stored steps.
 */
@Injectable()
export class RunSettlement {
  constructor(
    private readonly store: RunStore,
    private readonly recovery: ReservationRecovery,
  ) {}

  /** Stores the usage that the steps report, because no replica reports the usage of a cancelled run. */
  async withUsage(cancelled: readonly RunFacts[]): Promise<RunFacts[]> {
    const reports = await this.reportsOf(cancelled);
    const usages = new Map([...reports].map(([id, reported]) => [id, sumOf(reported)]));
    if (usages.size > 0) await this.store.setUsage(usages);
    return cancelled.map((run) => ({ ...run, usage: usages.get(run.id) ?? run.usage }));
  }

  /** Charges the recorded replies of cancelled runs. If the database is unavailable, `endReservations` makes the charges later. */
  async charge(cancelled: readonly Payer[]): Promise<void> {
    try {
      const reports = await this.reportsOf(cancelled);
      const runs = cancelled.map(({ namespace, id: runId }) => {
        return { namespace, runId, charges: chargesIn(reports.get(runId) ?? []) };
      });
      await this.recovery.charge(runs);
    } catch (error) {
      if (!isOutage(error) || this.store.inTransaction) throw error;
    }
  }

  /** Ends the reservations that dead replicas left for finished runs. Returns the number of these runs. */
  @Periodic('runs.end_reservations', 3_000)
  async endReservations(): Promise<number> {
    const ended = await this.store.finishedWithReservations(LIVE_MS, BATCH);
    const reports = await this.reportsOf(ended);
    for (const { namespace, id: runId } of ended) {
      const isCalling = isCallingModel(await this.store.lastTurn(runId));
      await this.recovery.end({ namespace, runId }, chargesIn(reports.get(runId) ?? []), isCalling);
    }
    return ended.length;
  }

  private async reportsOf(runs: readonly Payer[]): Promise<ReadonlyMap<string, OwnUsage[]>> {
    if (runs.length === 0) return new Map();
    return Map.groupBy(await this.store.reportedUsage(runs.map(({ id }) => id)), ({ runId }) => runId);
  }
}
