import { readFileSync } from 'node:fs';
import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { credsAuthenticator, type NodeConnectionOptions } from '@nats-io/transport-node';
import { EventLog, type EventSink, SinksService } from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { NatsSink } from './nats.sink.js';

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

  make(): EventSink {
    const { stream, subjectPrefix } = this.config.nats;
    const connection = connectionOptions(this.config.nats);
    return new NatsSink({ connection, stream, subjectPrefix, keepMs: this.config.events.keep }, this.log);
  }
}

function connectionOptions({ url = '', credentials, user, password, token }: Config['nats']): NodeConnectionOptions {
  return {
    servers: url.split(','),
    ...(credentials !== undefined && { authenticator: credsAuthenticator(readFileSync(credentials)) }),
    ...(user !== undefined && { user, pass: password }),
    ...(token !== undefined && { token }),
  };
}
