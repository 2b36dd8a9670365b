import { Global, Module } from '@nestjs/common';
import { Database, EventLog, SinksService } from '#rollcall/platform';
import { NatsModule } from '../nats/nats.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { SinkKinds } from './sink.kinds.js';
import { SinkLoops } from './sink.loops.js';
import { SinkMetrics } from './sink.metrics.js';
import { SinksController } from './sinks.controller.js';

@Global()
@Module({
  providers: [
    {
      provide: SinksService,
      inject: [Database, EventLog],
      useFactory: (db: Database, log: EventLog) => new SinksService(db, log),
    },
  ],
  exports: [SinksService],
})
class SinkStateModule {}

/** Events to places outside: a new kind of sink is one class, and its line in `SinkKinds`. */
@Module({
  imports: [SinkStateModule, WebhooksModule, NatsModule],
  controllers: [SinksController],
  providers: [SinkMetrics, SinkKinds, SinkLoops],
})
export class SinksModule {}
