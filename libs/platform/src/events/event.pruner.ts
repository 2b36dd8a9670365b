import { Inject, Injectable } from '@nestjs/common';
import { PLATFORM_OPTIONS, type PlatformOptions } from '../platform.options.js';
import { Periodic } from '../schedule/periodic.js';
import { inBatches } from '../work/in-batches.js';
import { EventRetentionStore } from './event-retention.store.js';

const EVERY_MS = 60_000;
const BATCH = 1_000;

/**
 * Deletes events beyond the retention limits of the log, and the contents of events beyond the limit of their namespace, in short
 * steps that block neither writers nor readers.
 */
@Injectable()
export class EventPruner {
  constructor(
    private readonly store: EventRetentionStore,
    @Inject(PLATFORM_OPTIONS) private readonly options: Pick<PlatformOptions, 'events'>,
  ) {}

  @Periodic('events.prune', EVERY_MS)
  async prune(): Promise<{ pruned: number }> {
    const { keepMs, keepCount } = this.options.events;
    return { pruned: await inBatches(BATCH, async (limit) => await this.store.prune(keepMs, keepCount, limit)) };
  }

  /** A batch concerns one namespace, so a small batch does not mean that all namespaces are done. */
  @Periodic('events.expire', EVERY_MS)
  async expire(): Promise<{ expired: number }> {
    let total = 0;
    for (let expired = 1; expired > 0; total += expired) expired = await this.store.expire(BATCH);
    return { expired: total };
  }
}
