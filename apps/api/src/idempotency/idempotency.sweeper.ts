import { Injectable } from '@nestjs/common';
import { inBatches, Periodic } from '#rollcall/platform';
import { IdempotencyStore } from './idempotency.store.js';

const SWEEP_EVERY_MS = 10 * 60_000;
const BATCH = 1_000;

/** Deletes stored responses that have expired. */
@Injectable()
export class IdempotencySweeper {
  constructor(private readonly store: IdempotencyStore) {}

  @Periodic('idempotency.sweep', SWEEP_EVERY_MS)
  async sweep(): Promise<number> {
    return await inBatches(BATCH, async (limit) => await this.store.prune(limit));
  }
}
