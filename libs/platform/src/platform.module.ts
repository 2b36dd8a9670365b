import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { EventRetentionStore } from './events/event-retention.store.js';
import { EventCatalog } from './events/event.catalog.js';
import { EventFeed } from './events/event.feed.js';
import { EventLog } from './events/event.log.js';
import { EventOutbox } from './events/event.outbox.js';
import { EventPruner } from './events/event.pruner.js';
import { EventSequencer } from './events/event.sequencer.js';
import { EventStatus, EventStore } from './events/event.store.js';
import { LogIdentity } from './events/log.identity.js';
import { BackgroundFaults } from './lifecycle/background.faults.js';
import { DecoratedMethods } from './lifecycle/decorated.methods.js';
import { Shutdown } from './lifecycle/shutdown.js';
import { NamespaceAdmission } from './namespaces/namespace.admission.js';
import { NamespaceCatalog } from './namespaces/namespace.catalog.js';
import { NamespaceContents } from './namespaces/namespace.contents.js';
import { NamespaceStore } from './namespaces/namespace.store.js';
import { NamespacesService } from './namespaces/namespaces.service.js';
import { PLATFORM_OPTIONS, type PlatformOptions } from './platform.options.js';
import { Database } from './postgres/database.js';
import { DatabaseStatus } from './postgres/database.status.js';
import { PgListener } from './postgres/pg.listener.js';
import { DeliveryStore } from './sinks/delivery.store.js';
import { SinkFactories } from './sinks/sink.factories.js';
import { DeliveryCounts } from './sinks/sink.relay.js';
import { SinkStore } from './sinks/sink.store.js';
import { SinkSupervisor } from './sinks/sink.supervisor.js';
import { SinksService } from './sinks/sinks.service.js';
import { PeriodicExplorer } from './work/periodic.js';

const POSTGRES = [PgListener, DatabaseStatus];
const EVENTS = [EventStore, LogIdentity, EventLog, EventFeed, EventSequencer, EventOutbox, EventStatus];
const RETENTION = [EventRetentionStore, EventPruner];
const SINKS = [SinkStore, DeliveryStore, DeliveryCounts, SinkFactories, SinkSupervisor, SinksService];
const NAMESPACES = [NamespaceStore, NamespaceCatalog, NamespaceContents, NamespaceAdmission, NamespacesService];
const LIFECYCLE = [BackgroundFaults, DecoratedMethods, PeriodicExplorer, Shutdown];

/** Postgres access, the event log and its sinks, and periodic work, for all other modules. */
@Module({})
export class PlatformModule {
  static forRoot(options: PlatformOptions): DynamicModule {
    const { database, catalog } = options;
    const given: Provider[] = [
      { provide: PLATFORM_OPTIONS, useValue: options },
      { provide: EventCatalog, useValue: catalog },
      {
        provide: Database,
        useFactory: () => (database instanceof Database ? database : new Database(database)),
      },
    ];
    return {
      module: PlatformModule,
      global: true,
      imports: [ScheduleModule.forRoot(), DiscoveryModule],
      providers: [...given, ...POSTGRES, ...EVENTS, ...RETENTION, ...SINKS, ...NAMESPACES, ...LIFECYCLE],
      exports: [
        Database,
        EventCatalog,
        PgListener,
        EventLog,
        EventFeed,
        EventOutbox,
        EventSequencer,
        EventStatus,
        DatabaseStatus,
        SinksService,
        SinkFactories,
        DeliveryCounts,
        BackgroundFaults,
        NamespaceAdmission,
        NamespaceCatalog,
        NamespaceContents,
        NamespacesService,
      ],
    };
  }
}
