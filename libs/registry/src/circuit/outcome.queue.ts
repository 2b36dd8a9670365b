import { DatabaseBusyError, DatabaseUnavailableError } from '#rollcall/platform';
import type { OutcomeReport, ReportResult } from './outcome.js';

interface WaitingOutcome {
  report: OutcomeReport;
  onLost: (error: Error) => void;
}

const MAX_BATCH = 500;
/** An outcome takes less than a kilobyte, so the queue takes less than 10 MB. */
const MAX_WAITING = 10_000;

/**
 * The outcomes that nobody waits for, in the order in which they were reported. While the database is unavailable or busy, they stay in
 * the queue, and the next pass tries again. If too many wait, the oldest is dropped, because the latest outcomes say more about the agent.
 * An outcome whose COMMIT got no response is recorded again, so after an outage it may count twice.
 */
export class OutcomeQueue {
  private waiting: WaitingOutcome[] = [];
  private pass?: Promise<void>;

  constructor(
    private readonly commit: (batch: readonly OutcomeReport[]) => Promise<readonly ReportResult[]>,
    private readonly maxWaiting = MAX_WAITING,
  ) {}

  get size(): number {
    return this.waiting.length;
  }

  /** `onLost` is called if the outcome is never recorded. */
  add(report: OutcomeReport, onLost: (error: Error) => void): void {
    this.waiting.push({ report, onLost });
    this.dropOldest();
  }

  /** Records the waiting outcomes. Concurrent calls share one pass, which includes outcomes that arrive meanwhile. */
  async record(): Promise<void> {
    await (this.pass ??= this.recordAll().finally(() => (this.pass = undefined)));
  }

  /** Drops what could not be recorded, at the end of the process. */
  abandon(): void {
    const lost = new Error('The replica stopped before the database was available again.');
    for (const { onLost } of this.waiting.splice(0)) onLost(lost);
  }

  private async recordAll(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, MAX_BATCH);
      const results = await this.commit(batch.map(({ report }) => report));
      const again = batch.filter((one, index) => this.mustRetry(one, results[index]));
      if (again.length === 0) continue;
      this.waiting = [...again, ...this.waiting];
      this.dropOldest();
      return;
    }
  }

  private mustRetry({ onLost }: WaitingOutcome, result: ReportResult): boolean {
    if (result.state === 'stored') return false;
    const { error } = result;
    if (error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError) return true;
    onLost(error);
    return false;
  }

  private dropOldest(): void {
    const excess = this.waiting.length - this.maxWaiting;
    if (excess <= 0) return;
    const lost = new Error(`More than ${this.maxWaiting} outcomes wait for the database, so the oldest was dropped.`);
    for (const { onLost } of this.waiting.splice(0, excess)) onLost(lost);
  }
}
