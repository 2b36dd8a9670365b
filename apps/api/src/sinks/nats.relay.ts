import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { EventLog, type EventSink, openNatsSink, SinksService } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

export const NATS_KIND = 'nats';

/** Relays the event log to NATS JetStream when `NATS_URL` is set. */
@Injectable()
export class NatsRelay implements OnApplicationBootstrap {
  constructor(
    private readonly sinks: SinksService,
    private readonly log: EventLog,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  get isConfigured(): boolean {
    return this.config.nats.url !== undefined;
  }

  /** A new sink begins with the oldest event in the log. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.isConfigured) await this.sinks.add(NATS_KIND, NATS_KIND, { after: await this.log.oldest() });
  }

  async make(): Promise<EventSink> {
    return await openNatsSink({ ...this.config.nats, keepMs: this.config.events.keep });
  }
}
