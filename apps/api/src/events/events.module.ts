import { Global, Logger, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database, EventFeed, EventLog, EventOutbox, RegistryEvents } from '#rollcall/platform';
import { AuthModule } from '../auth/auth.module.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { EVENTS } from './event.catalog.js';
import { EventStreams } from './event.streams.js';
import { EventsController } from './events.controller.js';
import { EventsGateway } from './events.gateway.js';
import { EventsService } from './events.service.js';
import { StreamKeeper } from './stream.keeper.js';
import { TicketStore } from './ticket.store.js';
import { TicketsService } from './tickets.service.js';

const log = new Logger('events');

const PARTS = [
  {
    provide: RegistryEvents,
    inject: [Database, CONFIG],
    useFactory: (db: Database, { events }: Config) =>
      new RegistryEvents(db, {
        catalog: EVENTS,
        keepMs: events.keep,
        keepCount: events.keepCount,
        onError: (part, error) => log.warn({ event: `events.${part}_failed`, err: error }),
      }),
  },
  { provide: EventOutbox, inject: [RegistryEvents], useFactory: ({ outbox }: RegistryEvents) => outbox },
  { provide: EventLog, inject: [RegistryEvents], useFactory: (events: RegistryEvents) => events.log },
  { provide: EventFeed, inject: [RegistryEvents], useFactory: ({ feed }: RegistryEvents) => feed },
];

/** Whoever changes something tells of it through `EventOutbox`; whoever follows changes does so through `EventFeed`. */
@Global()
@Module({
  imports: [AuthModule],
  controllers: [EventsController],
  providers: [...PARTS, EventsService, EventStreams, StreamKeeper, TicketStore, TicketsService, EventsGateway],
  exports: [...PARTS.map(({ provide }) => provide), EventsService, StreamKeeper],
})
export class EventsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly events: RegistryEvents) {}

  onApplicationBootstrap(): void {
    this.events.start();
  }

  /** After the last request: what it wrote is to be sequenced here, not by whoever starts next. */
  async onApplicationShutdown(): Promise<void> {
    await this.events.stop();
  }
}
