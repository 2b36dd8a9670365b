import { Injectable, Logger } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { IdempotencyStore } from './idempotency.store.js';

const EVERY_MS = 10 * 60_000;
const STEP = 1_000;

/** Forgets answers that are older than they need to be. */
@Injectable()
export class IdempotencySweeper {
  private readonly log = new Logger('idempotency');

  constructor(private readonly store: IdempotencyStore) {}

  async sweep(): Promise<number> {
    let total = 0;
    for (let pruned = STEP; pruned === STEP; total += pruned) pruned = await this.store.prune(STEP);
    return total;
  }

  @Interval('idempotency.sweep', EVERY_MS)
  async onTimer(): Promise<void> {
    try {
      await this.sweep();
    } catch (error) {
      this.log.warn({ event: 'idempotency.sweep_failed', err: error });
    }
  }
}
