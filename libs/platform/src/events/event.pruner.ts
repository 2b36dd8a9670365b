import { Inject, Injectable } from '@nestjs/common';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { PLATFORM_OPTIONS, type PlatformOptions } from '../platform.options.js';
import { inBatches, Periodic } from '../work/periodic.js';
import { EventRetentionStore } from './event-retention.store.js';

const PRUNE_EVERY_MS = 60_000;
/** Often, because a namespace with a small limit relies on it. A pass with nothing to do is one statement. */
const EXPIRE_EVERY_MS = 10_000;
const BATCH = 1_000;

/**
 * Deletes events beyond the retention limits of the log, and the contents of events beyond the limit of their namespace, in short
 * steps that block neither writers nor readers. Counts the remaining events of a namespace.
 */
@Injectable()
export class EventPruner {
  /** The events of a namespace remain after its deletion, so they do not prevent it. */
  constructor(
    private readonly store: EventRetentionStore,
    @Inject(PLATFORM_OPTIONS) private readonly options: Pick<PlatformOptions, 'events'>,
    contents: NamespaceContents,
  ) {
    contents.add({ kind: 'eventsKept', remains: true, count: async (namespace) => await store.countKept(namespace) });
  }

  @Periodic('events.prune', PRUNE_EVERY_MS)
  async prune(): Promise<{ pruned: number }> {
    const { keepMs, keepCount } = this.options.events;
    return { pruned: await inBatches(BATCH, async (limit) => await this.store.prune(keepMs, keepCount, limit)) };
  }

  /** A batch concerns one namespace, so a small batch does not mean that all namespaces are done. */
  @Periodic('events.expire', EXPIRE_EVERY_MS)
  async expire(): Promise<{ expired: number }> {
    let total = 0;
    for (let expired = 1; expired > 0; total += expired) expired = await this.store.expire(BATCH);
    return { expired: total };
  }
}
