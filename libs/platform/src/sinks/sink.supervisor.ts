import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { EventFeed } from '../events/event.feed.js';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.js';
import { PLATFORM_OPTIONS, type PlatformOptions } from '../platform.options.js';
import { PgListener } from '../postgres/pg.listener.js';
import { LeasedWork } from '../work/leased-work.js';
import { DeliveryStore } from './delivery.store.js';
import type { EventSink } from './event.sink.js';
import { SinkFactories } from './sink.factories.js';
import { DeliveryCounts, SinkRelay } from './sink.relay.js';
import { type ClaimedSink, SINK_CHANNEL, SinkStore } from './sink.store.js';

/** Runs exactly one relay for each sink among all replicas: sinks are leased work. */
@Injectable()
export class SinkSupervisor implements OnApplicationBootstrap {
  private readonly work: LeasedWork<ClaimedSink>;

  constructor(
    private readonly feed: EventFeed,
    private readonly store: SinkStore,
    private readonly deliveries: DeliveryStore,
    private readonly counts: DeliveryCounts,
    private readonly factories: SinkFactories,
    listener: PgListener,
    faults: BackgroundFaults,
    @Inject(PLATFORM_OPTIONS) { sinks }: Pick<PlatformOptions, 'sinks'>,
  ) {
    const onError = (error: unknown): void => faults.report('sinks.delivery', error);
    this.work = new LeasedWork({
      store: {
        claim: async (owner, held, leaseMs) => await store.claim(owner, factories.kinds, held, leaseMs),
        renew: async (held, leaseMs) => await store.renew(held, leaseMs),
        release: async (held) => await store.release(held),
      },
      open: async (claim) => await this.open(claim, onError),
      onError,
      leaseMs: sinks.leaseMs,
    });
    listener.on(SINK_CHANNEL, () => this.wake());
    listener.onConnected(() => this.wake());
  }

  /** The ids of the sinks that this replica delivers to. */
  get held(): string[] {
    return this.work.held;
  }

  onApplicationBootstrap(): void {
    this.start();
  }

  start(): void {
    this.work.start();
  }

  /** Starts a pass, because a sink was added or changed. */
  wake(): void {
    this.work.wake();
  }

  /** Waits for deliveries in progress, within their time limit, and then hands the sinks over to other replicas. */
  @StopsIn('background')
  async stop(): Promise<void> {
    await this.work.stop();
  }

  /** `onError` is called for errors of the relay that the sink did not cause. */
  private async open(claim: ClaimedSink, onError: (error: unknown) => void): Promise<SinkRelay | undefined> {
    const sink = await this.create(claim);
    const { feed, store: sinks, deliveries, counts } = this;
    return sink && new SinkRelay(claim, sink, { feed, sinks, deliveries, counts, onError });
  }

  /** If the sink cannot be created, its status shows the error. */
  private async create(claim: ClaimedSink): Promise<EventSink | undefined> {
    try {
      return await this.factories.create(claim.kind, claim.id);
    } catch (error) {
      const attempts = Math.max(1, claim.attempts);
      await this.store.save(claim, { cursor: claim.cursor, attempts, dueInMs: 0, error: String(error) });
      throw error;
    }
  }
}
