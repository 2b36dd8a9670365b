import { Module } from '@nestjs/common';
import { A2aModule } from '../a2a/a2a.module.js';
import { NatsModule } from '../nats/nats.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SinkKinds } from './sink.kinds.js';
import { SinkMetrics } from './sink.metrics.js';
import { SinksController } from './sinks.controller.js';

/** A new kind of sink needs one class and one line in `SinkKinds`. */
@Module({
  imports: [WebhooksModule, NatsModule, A2aModule],
  controllers: [SinksController],
  providers: [SinkMetrics, SinkKinds],
})
export class SinksModule {}
