import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { StopsIn } from '../lifecycle/shutdown.order.js';
import { PLATFORM_OPTIONS, type PlatformOptions } from '../platform.options.js';
import { PgListener } from '../postgres/pg.listener.js';
import { LeasedWork } from '../work/leased-work.js';
import { SinkRelays } from './sink.relays.js';
import { type ClaimedSink, SINK_CHANNEL, SinkStore } from './sink.store.js';

/** Runs exactly one relay for each sink among all replicas: sinks are leased work. */
@Injectable()
export class SinkSupervisor implements OnApplicationBootstrap {
  private readonly work: LeasedWork<ClaimedSink>;

  constructor(
    store: SinkStore,
    relays: SinkRelays,
    listener: PgListener,
    faults: BackgroundFaults,
    @Inject(PLATFORM_OPTIONS) { sinks }: Pick<PlatformOptions, 'sinks'>,
  ) {
    const onError = (error: unknown): void => faults.report('sinks.delivery', error);
    this.work = new LeasedWork({
      store: {
        claim: async (owner, held, leaseMs) => await store.claim(owner, relays.kinds, held, leaseMs),
        renew: async (held, leaseMs) => await store.renew(held, leaseMs),
        release: async (held) => await store.release(held),
      },
      open: async (claim) => await relays.open(claim, onError),
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
}
