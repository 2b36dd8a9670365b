import { Global, Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { EventMetrics } from './event.metrics.js';
import { EventStreams } from './event.stream.js';
import { EventsController } from './events.controller.js';
import { EventsGateway } from './events.gateway.js';
import { EventsService } from './events.service.js';
import { TicketStore } from './ticket.store.js';
import { TicketsService } from './tickets.service.js';

/** Pages and streams of the event log over REST, SSE and WebSocket. */
@Global()
@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [EventMetrics, EventsService, EventStreams, TicketStore, TicketsService, EventsGateway],
  exports: [EventsService],
})
export class EventsModule {}
