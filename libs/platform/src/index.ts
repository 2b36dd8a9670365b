export * from './errors.js';
export { Loop, type LoopOptions } from './loop.js';
export { PLATFORM_SCHEMA } from './schema.js';
export { Database } from './postgres/database.js';
export {
  clientOptions,
  joinSchemas,
  migrationOptions,
  STATEMENTS_PER_TRANSACTION,
  USUAL_RESERVED_POOL_SIZE,
  type DatabaseOptions,
  type Schema,
} from './postgres/database.options.js';
export {
  DatabaseBusyError,
  DatabaseUnavailableError,
  sqlState,
  translateDatabaseError,
} from './postgres/database.errors.js';
export { DatabaseRefusedError, migrate } from './postgres/migrator.js';
export { PgListener } from './postgres/pg.listener.js';
export { waitForPostgres } from './postgres/reachability.js';
export { EmbeddedPostgres } from './postgres/embedded/embedded-postgres.js';
export { DataFolder, DataFolderError } from './postgres/embedded/data-folder.js';
export * from './events/event.types.js';
export { EventCatalog, type EventFilter, type EventMatcher } from './events/event.catalog.js';
export {
  CursorAheadError,
  CursorExpiredError,
  CursorForeignError,
  isUnusableCursor,
  type UnusableCursorError,
} from './events/event.errors.js';
export { type Cursor, CURSOR_PATTERN, formatCursor, type LogPosition, parseCursor } from './events/event.cursor.js';
export { EVENT_CHANNEL, EventStore, type LogPage } from './events/event.store.js';
export { type EventContext, type EventDraft, EventOutbox } from './events/event.outbox.js';
export { EventSnapshot } from './events/event.snapshot.js';
export { EventSequencer, type SequencerOptions } from './events/event.sequencer.js';
export { EventLog } from './events/event.log.js';
export { EventFeed, type FeedOptions } from './events/event.feed.js';
export { type FeedConsumer, FeedSubscription } from './events/feed.subscription.js';
export { RegistryEvents, type RegistryEventsOptions } from './events/registry.events.js';
export { EventPruner, type PrunerOptions } from './events/event.pruner.js';
export { DeliveryError, type EventSink, type Receipt, type SinkFactory } from './sinks/event.sink.js';
export type { DeliveryState } from './sinks/delivery.entity.js';
export type { DeliveryRow } from './sinks/delivery.store.js';
export type { RetryPolicy } from './sinks/retry.policy.js';
export { DeliveryNotFoundError, SinkNotFoundError } from './sinks/sink.errors.js';
export { SINK_CHANNEL } from './sinks/sink.store.js';
export { SinkSupervisor, type SupervisorOptions } from './sinks/sink.supervisor.js';
export { SinksService, type SinkStatus } from './sinks/sinks.service.js';
export { GroupCommit } from './work/group-commit.js';
