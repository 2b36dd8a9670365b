import { Module } from '@nestjs/common';
import { A2aModule } from '../a2a/a2a.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { NatsRelay } from './nats.relay.js';
import { SinkKinds } from './sink.kinds.js';
import { SinkMetrics } from './sink.metrics.js';
import { SinksController } from './sinks.controller.js';

/** A new kind of sink needs one class and one line in `SinkKinds`. */
@Module({
  imports: [WebhooksModule, A2aModule],
  controllers: [SinksController],
  providers: [NatsRelay, SinkMetrics, SinkKinds],
})
export class SinksModule {}
