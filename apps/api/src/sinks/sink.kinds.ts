import { Injectable } from '@nestjs/common';
import { type SinkFactory, WEBHOOK_KIND, WebhookSinks } from '#rollcall/platform';
import { NATS_KIND, NatsRelay } from '../nats/nats.relay.js';

/** The kinds of sinks this replica can deliver to. */
@Injectable()
export class SinkKinds {
  constructor(
    private readonly webhooks: WebhookSinks,
    private readonly nats: NatsRelay,
  ) {}

  factories(): Record<string, SinkFactory> {
    return {
      [WEBHOOK_KIND]: async (id) => await this.webhooks.make(id),
      ...(this.nats.isConfigured && { [NATS_KIND]: async () => await this.nats.make() }),
    };
  }
}
