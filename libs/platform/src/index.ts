export { DomainError, PlatformError, type PlatformErrorCode } from './errors.js';
export { Loop } from './loop.js';
export { PLATFORM_SCHEMA } from './schema.js';
export { PlatformModule } from './platform.module.js';
export type { PlatformOptions } from './platform.options.js';
export { BackgroundFaults } from './lifecycle/background.faults.js';
export { StopsIn } from './lifecycle/shutdown.order.js';
export { Periodic } from './schedule/periodic.js';
export { bigintArray, integerArray, realArray, textArray } from './postgres/binary.arrays.js';
export { Database } from './postgres/database.js';
export {
  type DatabaseOptions,
  joinSchemas,
  migrationOptions,
  type Schema,
  STATEMENTS_PER_TRANSACTION,
  USUAL_RESERVED_POOL_SIZE,
} from './postgres/database.options.js';
export { DatabaseBusyError, DatabaseUnavailableError } from './postgres/database.errors.js';
export { DatabaseRefusedError, migrate } from './postgres/migrator.js';
export { waitForPostgres } from './postgres/reachability.js';
export { EmbeddedPostgres } from './postgres/embedded/embedded-postgres.js';
export { DataFolder, DataFolderError } from './postgres/embedded/data-folder.js';
export type { EventPayloads, EventType, RegistryEvent, SubjectKind } from './events/event.types.js';
export { EventCatalog, type EventFilter, type EventMatcher } from './events/event.catalog.js';
export {
  CursorAheadError,
  CursorExpiredError,
  CursorForeignError,
  isUnusableCursor,
  type UnusableCursorError,
} from './events/event.errors.js';
export { CURSOR_PATTERN, formatCursor, type LogPosition, parseCursor } from './events/event.cursor.js';
export { type EventDraft, EventOutbox } from './events/event.outbox.js';
export { EventSnapshot } from './events/event.snapshot.js';
export { EventSequencer } from './events/event.sequencer.js';
export { EventLog } from './events/event.log.js';
export { EventFeed } from './events/event.feed.js';
export { FeedSubscription } from './events/feed.subscription.js';
export { DeliveryError, type EventSink, type Receipt } from './sinks/event.sink.js';
export type { DeliveryState } from './sinks/delivery.entity.js';
export type { DeliveryRow } from './sinks/delivery.store.js';
export type { RetryPolicy } from './sinks/retry.policy.js';
export { SinkFactories } from './sinks/sink.factories.js';
export { DeliveryCounts } from './sinks/delivery.counts.js';
export { SinksService, type SinkStatus } from './sinks/sinks.service.js';
