import { Injectable } from '@nestjs/common';
import { Periodic } from '#rollcall/platform';
import { IdempotencyStore } from './idempotency.store.js';

const SWEEP_EVERY_MS = 10 * 60_000;
const STEP = 1_000;

/** Deletes stored responses that have expired. */
@Injectable()
export class IdempotencySweeper {
  constructor(private readonly store: IdempotencyStore) {}

  @Periodic('idempotency.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<number> {
    let total = 0;
    for (let pruned = STEP; pruned === STEP; total += pruned) pruned = await this.store.prune(STEP);
    return total;
  }
}
