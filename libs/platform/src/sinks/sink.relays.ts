import { Injectable } from '@nestjs/common';
import { EventFeed } from '../events/event.feed.js';
import { DeliveryCounts } from './delivery.counts.js';
import { DeliveryStore } from './delivery.store.js';
import type { EventSink } from './event.sink.js';
import { SinkFactories } from './sink.factories.js';
import { type RelayParts, SinkRelay } from './sink.relay.js';
import { type ClaimedSink, SinkStore } from './sink.store.js';

/** Opens the relay of a claimed sink. */
@Injectable()
export class SinkRelays {
  private readonly parts: Omit<RelayParts, 'onError'>;

  constructor(
    feed: EventFeed,
    private readonly sinks: SinkStore,
    deliveries: DeliveryStore,
    counts: DeliveryCounts,
    private readonly factories: SinkFactories,
  ) {
    this.parts = { feed, sinks, deliveries, counts };
  }

  get kinds(): string[] {
    return this.factories.kinds;
  }

  /** `onError` is called with errors of the relay that are not the sink's fault. */
  async open(claim: ClaimedSink, onError: RelayParts['onError']): Promise<SinkRelay | undefined> {
    const sink = await this.make(claim);
    return sink && new SinkRelay(claim, sink, { ...this.parts, onError });
  }

  /** The status of a sink that cannot be made shows the error. */
  private async make(claim: ClaimedSink): Promise<EventSink | undefined> {
    try {
      return await this.factories.make(claim.kind, claim.id);
    } catch (error) {
      const attempts = Math.max(1, claim.attempts);
      await this.sinks.save(claim, { cursor: claim.cursor, attempts, dueInMs: 0, error: String(error) });
      throw error;
    }
  }
}
