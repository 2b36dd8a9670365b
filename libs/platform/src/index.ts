export { DomainError, PlatformError, type PlatformErrorCode } from './errors.js';
export { PlatformModule } from './platform.module.js';
export type { PlatformOptions } from './platform.options.js';
export { PLATFORM_SCHEMA } from './schema.js';
export { NO_QUOTA, type Quota, QuotaExceededError } from './quota.js';
export { BackgroundFaults } from './lifecycle/background.faults.js';
export { StopsIn } from './lifecycle/shutdown.js';
export { Loop } from './work/loop.js';
export { inBatches, Periodic } from './work/periodic.js';
export { LeasedWork, type WorkClaim, type WorkEnd, type Worker } from './work/leased-work.js';
export { GroupCommit } from './work/group-commit.js';
export { type Release, Semaphore } from './work/semaphore.js';
export { type Counts, Database } from './postgres/database.js';
export type { NamedStatement, Statement } from './postgres/statement.js';
export {
  type DatabaseOptions,
  DEFAULT_RESERVED_POOL_SIZE,
  joinSchemas,
  migrationOptions,
  type Schema,
  STATEMENTS_PER_TRANSACTION,
} from './postgres/database.options.js';
export { PAGE_BYTES, ROWS_OF_ANY_SIZE, withinPage } from './postgres/page.bytes.js';
export { DatabaseStatus } from './postgres/database.status.js';
export {
  DatabaseBusyError,
  DatabaseRefusedError,
  DatabaseUnavailableError,
  isOutage,
  sqlState,
} from './postgres/database.errors.js';
export { migrate } from './postgres/migrator.js';
export { PgListener } from './postgres/pg.listener.js';
export { waitForPostgres } from './postgres/reachability.js';
export { serversIn } from './postgres/servers.js';
export { EmbeddedPostgres } from './postgres/embedded/embedded-postgres.js';
export { DataFolder, DataFolderError } from './postgres/embedded/data-folder.js';
export { EventStatus } from './events/event.store.js';
export {
  type EventPayloads,
  isExpired,
  PLATFORM_EVENTS,
  type RegistryEvent,
  type SubjectKind,
} from './events/event.js';
export { EventCatalog, type EventFilter, type EventMatcher } from './events/event.catalog.js';
export {
  CURSOR_PATTERN,
  CursorAheadError,
  CursorExpiredError,
  CursorForeignError,
  formatCursor,
  isUnusableCursor,
  type LogPosition,
  parseCursor,
  type UnusableCursorError,
} from './events/event.cursor.js';
export { type CloudEvent, toCloudEvent, toCloudEventText, TYPE_PREFIX } from './events/cloud-event.js';
export { type EventDraft, EventOutbox } from './events/event.outbox.js';
export { EventSnapshot } from './events/event.snapshot.js';
export { EventSequencer } from './events/event.sequencer.js';
export { EventLog, PageTurns } from './events/event.log.js';
export { EventFeed } from './events/event.feed.js';
export { FeedSubscription } from './events/feed.subscription.js';
export type { EventSink, Receipt } from './sinks/event.sink.js';
export type { DeliveryState } from './sinks/sink.entities.js';
export type { DeliveryRow } from './sinks/delivery.store.js';
export { openNatsSink, SinkFactories } from './sinks/sink.factories.js';
export { DeliveryCounts } from './sinks/sink.relay.js';
export { PUSH_KIND, SinksService, type SinkStatus } from './sinks/sinks.service.js';
export {
  confirmed,
  WEBHOOK_OPTIONS,
  type WebhookAnswer,
  type WebhookOptions,
  type WebhookRequest,
  WebhookSinks,
  WebhookTransport,
} from './webhooks/webhook.sink.js';
export { WebhookSecrets } from './webhooks/webhook.signature.js';
export { type WebhookFields, WebhookStore } from './webhooks/webhook.store.js';
export { type IssuedWebhook, type Webhook, WEBHOOK_KIND, WebhooksService } from './webhooks/webhooks.service.js';
export {
  ALL_NAMESPACES,
  DEFAULT_NAMESPACE,
  isVisible,
  localIdOf,
  NAMESPACE_PATTERN,
  type NamespaceLimits,
  NamespaceNotFoundError,
  namespaceOf,
  NO_LIMITS,
  qualifiedId,
  type VisibleNamespaces,
} from './namespaces/namespace.js';
export { NamespaceAdmission, NamespaceFullError } from './namespaces/namespace.admission.js';
export { NamespaceCatalog } from './namespaces/namespace.catalog.js';
export { NamespaceContents } from './namespaces/namespace.contents.js';
export type { NamespaceRow } from './namespaces/namespace.store.js';
export { type DescribedNamespace, NamespacesService } from './namespaces/namespaces.service.js';
export { AdminKeyError, AdminKeys, KeyChanges } from './keys/admin.keys.js';
export { type KeyRow, KeyStore } from './keys/key.store.js';
export { type SessionRow, SessionStore } from './keys/session.store.js';
export { type NewSession, SESSION_PREFIX, SessionsService } from './keys/sessions.service.js';
export { type IssuedKey, KeysService, type WantedKey } from './keys/keys.service.js';
