import { Injectable } from '@nestjs/common';
import { EventFeed } from '../events/event.feed.js';
import { DeliveryCounts } from './delivery.counts.js';
import { DeliveryStore } from './delivery.store.js';
import type { EventSink } from './event.sink.js';
import { SinkFactories } from './sink.factories.js';
import { type RelayDependencies, SinkRelay } from './sink.relay.js';
import { type ClaimedSink, SinkStore } from './sink.store.js';

/** Opens the relay of a claimed sink. */
@Injectable()
export class SinkRelays {
  private readonly dependencies: Omit<RelayDependencies, 'onError'>;

  constructor(
    feed: EventFeed,
    private readonly sinks: SinkStore,
    deliveries: DeliveryStore,
    counts: DeliveryCounts,
    private readonly factories: SinkFactories,
  ) {
    this.dependencies = { feed, sinks, deliveries, counts };
  }

  get kinds(): string[] {
    return this.factories.kinds;
  }

  /** `onError` is called for errors of the relay that the sink did not cause. */
  async open(claim: ClaimedSink, onError: RelayDependencies['onError']): Promise<SinkRelay | undefined> {
    const sink = await this.create(claim);
    return sink && new SinkRelay(claim, sink, { ...this.dependencies, onError });
  }

  /** If the sink cannot be created, its status shows the error. */
  private async create(claim: ClaimedSink): Promise<EventSink | undefined> {
    try {
      return await this.factories.create(claim.kind, claim.id);
    } catch (error) {
      const attempts = Math.max(1, claim.attempts);
      await this.sinks.save(claim, { cursor: claim.cursor, attempts, dueInMs: 0, error: String(error) });
      throw error;
    }
  }
}
