import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { EventLog, type EventSink, SinksService } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

export const NATS_KIND = 'nats';

/** Relays the log to NATS, if it is configured. */
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

  /** The first time, from the oldest event that is kept. */
  async onApplicationBootstrap(): Promise<void> {
    if (this.isConfigured) await this.sinks.add(NATS_KIND, NATS_KIND, { after: await this.log.oldest() });
  }

  /** The client is loaded only where it is used. */
  async make(): Promise<EventSink> {
    const { NatsSink } = await import('./nats.sink.js');
    return new NatsSink({ ...this.config.nats, keepMs: this.config.events.keep }, this.log);
  }
}
