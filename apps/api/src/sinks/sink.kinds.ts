import { Injectable, type OnModuleInit } from '@nestjs/common';
import { PUSH_KIND, SinkFactories, WEBHOOK_KIND, WebhookSinks } from '#rollcall/platform';
import { PushSinks } from '../a2a/push/push.sinks.js';
import { NATS_KIND, NatsRelay } from './nats.relay.js';

/** Registers the kinds of sinks that this replica can deliver to. */
@Injectable()
export class SinkKinds implements OnModuleInit {
  constructor(
    private readonly factories: SinkFactories,
    private readonly webhooks: WebhookSinks,
    private readonly nats: NatsRelay,
    private readonly pushes: PushSinks,
  ) {}

  onModuleInit(): void {
    this.factories.register(WEBHOOK_KIND, async (id) => await this.webhooks.create(id));
    this.factories.register(PUSH_KIND, async (id) => await this.pushes.create(id));
    if (this.nats.isConfigured) this.factories.register(NATS_KIND, async () => await this.nats.make());
  }
}
