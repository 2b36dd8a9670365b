import { Test, type TestingModule } from '@nestjs/testing';
import { EventCatalog } from '../events/event.catalog.js';
import { EventFeed } from '../events/event.feed.js';
import { type EventType, PLATFORM_EVENTS, type RegistryEvent, type SubjectKind } from '../events/event.js';
import { EventLog } from '../events/event.log.js';
import { EventOutbox } from '../events/event.outbox.js';
import { EventPruner } from '../events/event.pruner.js';
import { EventSequencer } from '../events/event.sequencer.js';
import { BackgroundFaults } from '../lifecycle/background.faults.js';
import { PlatformModule } from '../platform.module.js';
import type { PlatformOptions } from '../platform.options.js';
import type { Database } from '../postgres/database.js';
import type { DatabaseOptions } from '../postgres/database.options.js';
import { PgListener } from '../postgres/pg.listener.js';
import { type TestDatabase, testDatabase } from './test-database.js';

/** Some event types of the registry, and all event types of the platform. */
export const SOME_EVENTS = new EventCatalog({
  'agent.joined': 'agent',
  'agent.left': 'agent',
  'agent.resumed': 'agent',
  'circuit.closed': 'agent',
  'budget.low': 'budget',
  'protection.left': 'registry',
  ...PLATFORM_EVENTS,
} as Record<EventType, SubjectKind>);

export interface TestEventOptions {
  catalog?: EventCatalog;
  keepMs?: number;
  keepCount?: number;
}

/** The event services of one replica. */
export interface TestEvents {
  outbox: EventOutbox;
  sequencer: EventSequencer;
  log: EventLog;
  feed: EventFeed;
  pruner: EventPruner;
  listener: PgListener;
  /** The errors of background work so far. */
  faults: unknown[];
  start(): void;
  stop(): Promise<void>;
}

/** Collects the errors instead of logging them. */
export class RecordedFaults extends BackgroundFaults {
  readonly all: unknown[] = [];

  override report(_part: string, error: unknown): void {
    this.all.push(error);
  }
}

export function testPlatformOptions(database: Database, options: TestEventOptions = {}): PlatformOptions {
  const { catalog = SOME_EVENTS, keepMs = 3_600_000, keepCount = 1_000_000 } = options;
  return { database, catalog, events: { keepMs, keepCount }, sinks: { keepDeliveriesMs: 3_600_000 } };
}

/** Creates the event services of one replica without starting them: the module is compiled, but not initialised. */
export async function testEvents(db: Database, options: TestEventOptions = {}): Promise<TestEvents> {
  const module = await Test.createTestingModule({ imports: [PlatformModule.forRoot(testPlatformOptions(db, options))] })
    .overrideProvider(BackgroundFaults)
    .useValue(new RecordedFaults())
    .compile();
  return eventsOf(module);
}

/** The event services of one replica on its own database. They are not started. */
export interface TestReplica {
  database: TestDatabase;
  db: Database;
  events: TestEvents;
  /** Stops the event services and drops the database. */
  stop(): Promise<void>;
}

export async function testReplica(onDatabase: Partial<DatabaseOptions> = {}): Promise<TestReplica> {
  const database = await testDatabase(onDatabase);
  const events = await testEvents(database.db);
  const stop = async (): Promise<void> => {
    await events.stop();
    await database.drop();
  };
  return { database, db: database.db, events, stop };
}

/** Returns the event services of a module that was compiled with `RecordedFaults`. */
export function eventsOf(module: TestingModule): TestEvents {
  const parts = {
    outbox: module.get(EventOutbox, { strict: false }),
    sequencer: module.get(EventSequencer, { strict: false }),
    log: module.get(EventLog, { strict: false }),
    feed: module.get(EventFeed, { strict: false }),
    pruner: module.get(EventPruner, { strict: false }),
    listener: module.get(PgListener, { strict: false }),
    faults: module.get<BackgroundFaults, RecordedFaults>(BackgroundFaults, { strict: false }).all,
  };
  const loops = [parts.sequencer, parts.listener, parts.feed];
  return {
    ...parts,
    start: () => loops.forEach((loop) => loop.start()),
    stop: async () => {
      for (const loop of loops) await loop.stop();
    },
  };
}

/** Appends events of three agents, a-0 to a-2, in one transaction. */
export async function appendEvents(db: Database, { outbox }: Pick<TestEvents, 'outbox'>, count: number): Promise<void> {
  const drafts = Array.from({ length: count }, (_, index) => ({
    type: 'agent.resumed' as const,
    subject: `a-${index % 3}`,
    data: { by: 'test' },
  }));
  await db.transaction(async () => await outbox.appendAll(drafts));
}

/** Reads the whole log in order. */
export async function readAll({ log }: Pick<TestEvents, 'log'>): Promise<RegistryEvent[]> {
  const all: RegistryEvent[] = [];
  for (;;) {
    const { events } = await log.page(all.length, 1_000);
    if (events.length === 0) return all;
    all.push(...events);
  }
}
