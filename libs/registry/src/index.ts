export { Database } from './db/database.js';
export { joinSchemas, migrationOptions, type DatabaseOptions, type Schema } from './db/database.options.js';
export { DatabaseBusyError, DatabaseUnavailableError, sqlState } from './db/database.errors.js';
export { DatabaseRefusedError, migrate } from './db/migrator.js';
export { waitForPostgres, withoutPassword } from './db/reachability.js';
export { EmbeddedPostgres } from './db/embedded/embedded-postgres.js';
export { DataFolder, DataFolderError } from './db/embedded/data-folder.js';
export { RegistryError, type RegistryErrorCode } from './errors.js';
export { Loop, type LoopOptions } from './loop.js';
export { REGISTRY_SCHEMA } from './db/schema.js';
export { PgListener } from './db/pg.listener.js';
export {
  EVENT_SUBJECTS,
  EVENT_TYPES,
  type EventPayloads,
  type EventType,
  type LeaveReason,
  type RegistryEvent,
  type SubjectKind,
} from './events/event.types.js';
export { agentOf, type EventFilter, type EventMatcher, matcherOf, typesMeant } from './events/event.filter.js';
export { CursorAheadError, CursorExpiredError } from './events/event.errors.js';
export { EVENT_CHANNEL, EventStore, type LogPage, type Snapshot } from './events/event.store.js';
export { type EventContext, type EventDraft, EventOutbox } from './events/event.outbox.js';
export { EventSequencer, type SequencerOptions } from './events/event.sequencer.js';
export { EventLog } from './events/event.log.js';
export { EventFeed, type FeedOptions } from './events/event.feed.js';
export { type FeedConsumer, FeedSubscription } from './events/feed.subscription.js';
export { RegistryEvents, type RegistryEventsOptions } from './events/registry.events.js';
export { EventPruner, type PrunerOptions } from './events/event.pruner.js';
