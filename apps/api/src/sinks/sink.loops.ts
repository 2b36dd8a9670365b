import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { RegistryEvents, SINK_CHANNEL, SinksService, SinkSupervisor } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { SinkKinds } from './sink.kinds.js';
import { SinkMetrics } from './sink.metrics.js';

const FORGET_EVERY_MS = 10 * 60_000;
/** What was parked waits for a person. */
const PARKED_LONGER = 10;

/** Delivers to sinks for as long as the application runs. */
@Injectable()
export class SinkLoops implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger('sinks');
  private readonly supervisor: SinkSupervisor;

  constructor(
    events: RegistryEvents,
    private readonly sinks: SinksService,
    metrics: SinkMetrics,
    kinds: SinkKinds,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.supervisor = new SinkSupervisor({
      feed: events.feed,
      sinks: sinks.store,
      deliveries: sinks.deliveries,
      factories: kinds.factories(),
      onError: (error) => this.log.warn({ event: 'sinks.failed', err: error }),
      onTried: (kind, outcome, count) => metrics.count(kind, outcome, count),
    });
    events.listener.on(SINK_CHANNEL, () => this.supervisor.wake());
    events.listener.onConnected(() => this.supervisor.wake());
  }

  onApplicationBootstrap(): void {
    this.supervisor.start();
  }

  /** Before the feed and the database are gone. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.supervisor.stop();
  }

  @Interval('sinks.forget', FORGET_EVERY_MS)
  async forget(): Promise<void> {
    const { keepDeliveries } = this.config.webhooks;
    try {
      await this.sinks.forget(keepDeliveries, keepDeliveries * PARKED_LONGER);
    } catch (error) {
      this.log.warn({ event: 'sinks.forget_failed', err: error });
    }
  }
}
