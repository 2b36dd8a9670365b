import { Inject, Injectable } from '@nestjs/common';
import { PLATFORM_OPTIONS, type PlatformOptions } from '../platform.options.js';
import { Periodic } from '../schedule/periodic.js';
import { inBatches } from '../work/in-batches.js';
import { EventStore } from './event.store.js';

const EVERY_MS = 60_000;
const BATCH = 1_000;

/** Deletes events beyond the retention limits, in short steps that block neither writers nor readers. */
@Injectable()
export class EventPruner {
  constructor(
    private readonly store: EventStore,
    @Inject(PLATFORM_OPTIONS) private readonly options: Pick<PlatformOptions, 'events'>,
  ) {}

  @Periodic('events.prune', EVERY_MS)
  async prune(): Promise<{ pruned: number }> {
    const { keepMs, keepCount } = this.options.events;
    return { pruned: await inBatches(BATCH, async (limit) => await this.store.prune(keepMs, keepCount, limit)) };
  }
}
