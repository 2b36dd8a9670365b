import { Injectable } from '@nestjs/common';
import { EventFeed } from '../events/event.feed.js';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { DeliveryCounts } from './delivery.counts.js';
import { DeliveryStore } from './delivery.store.js';
import type { EventSink } from './event.sink.js';
import { SinkFactories } from './sink.factories.js';
import { type RelayParts, SinkRelay } from './sink.relay.js';
import { type ClaimedSink, SinkStore } from './sink.store.js';

/** Opens the relay of a claimed sink. */
@Injectable()
export class SinkRelays {
  private readonly parts: RelayParts;

  constructor(
    feed: EventFeed,
    private readonly sinks: SinkStore,
    deliveries: DeliveryStore,
    counts: DeliveryCounts,
    private readonly factories: SinkFactories,
    private readonly faults: BackgroundFaults,
  ) {
    const onError = (error: unknown): void => faults.report('sinks.relay', error);
    this.parts = { feed, sinks, deliveries, counts, onError };
  }

  get kinds(): string[] {
    return this.factories.kinds;
  }

  async open(claim: ClaimedSink): Promise<SinkRelay | undefined> {
    const sink = await this.make(claim);
    return sink && new SinkRelay(claim, sink, this.parts);
  }

  /** The status of a sink that cannot be made shows the error. */
  private async make(claim: ClaimedSink): Promise<EventSink | undefined> {
    try {
      return await this.factories.make(claim.kind, claim.id);
    } catch (error) {
      this.faults.report('sinks.make', error);
      const attempts = Math.max(1, claim.attempts);
      await this.sinks.save(claim, { cursor: claim.cursor, attempts, dueInMs: 0, error: String(error) });
      return undefined;
    }
  }
}
