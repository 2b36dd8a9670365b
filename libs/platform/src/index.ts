export { DomainError, PlatformError, type PlatformErrorCode } from './errors.js';
export { Loop } from './loop.js';
export { PLATFORM_SCHEMA } from './schema.js';
export { PlatformModule } from './platform.module.js';
export type { PlatformOptions } from './platform.options.js';
export { BackgroundFaults } from './lifecycle/background.faults.js';
export { StopsIn } from './lifecycle/shutdown.order.js';
export { Periodic } from './schedule/periodic.js';
export { Database } from './postgres/database.js';
export type { NamedStatement, Statement } from './postgres/statement.js';
export {
  type DatabaseOptions,
  joinSchemas,
  migrationOptions,
  type Schema,
  STATEMENTS_PER_TRANSACTION,
  DEFAULT_RESERVED_POOL_SIZE,
} from './postgres/database.options.js';
export { DatabaseStatus } from './postgres/database.status.js';
export { EventStatus } from './events/event.status.js';
export type { Counts } from './lifecycle/counts.js';
export { DatabaseBusyError, DatabaseUnavailableError, isOutage, sqlState } from './postgres/database.errors.js';
export { DatabaseRefusedError, migrate } from './postgres/migrator.js';
export { PgListener } from './postgres/pg.listener.js';
export { waitForPostgres } from './postgres/reachability.js';
export { EmbeddedPostgres } from './postgres/embedded/embedded-postgres.js';
export { DataFolder, DataFolderError } from './postgres/embedded/data-folder.js';
export type { EventPayloads, RegistryEvent, SubjectKind } from './events/event.types.js';
export { EventCatalog, type EventFilter, type EventMatcher } from './events/event.catalog.js';
export {
  CursorAheadError,
  CursorExpiredError,
  CursorForeignError,
  isUnusableCursor,
  type UnusableCursorError,
} from './events/event.errors.js';
export { type CloudEvent, toCloudEvent, toCloudEventText } from './events/cloud-event.js';
export { CURSOR_PATTERN, formatCursor, type LogPosition, parseCursor } from './events/event.cursor.js';
export { type EventDraft, EventOutbox } from './events/event.outbox.js';
export { EventSnapshot } from './events/event.snapshot.js';
export { EventSequencer } from './events/event.sequencer.js';
export { EventLog } from './events/event.log.js';
export { isExpired, PLATFORM_EVENTS } from './events/expired.event.js';
export { EventFeed } from './events/event.feed.js';
export { FeedSubscription } from './events/feed.subscription.js';
export type { EventSink, Receipt } from './sinks/event.sink.js';
export type { DeliveryState } from './sinks/delivery.entity.js';
export type { DeliveryRow } from './sinks/delivery.store.js';
export { SinkFactories } from './sinks/sink.factories.js';
export { DeliveryCounts } from './sinks/delivery.counts.js';
export { openNatsSink } from './sinks/open-nats.sink.js';
export { PUSH_KIND, SinksService, type SinkStatus } from './sinks/sinks.service.js';
export {
  ALL_NAMESPACES,
  DEFAULT_NAMESPACE,
  isVisible,
  localIdOf,
  NAMESPACE_PATTERN,
  namespaceOf,
  qualifiedId,
  type VisibleNamespaces,
} from './namespaces/namespace.js';
export { NamespaceAdmission } from './namespaces/namespace.admission.js';
export { NamespaceCatalog } from './namespaces/namespace.catalog.js';
export { NamespaceContents } from './namespaces/namespace.contents.js';
export { NamespaceFullError, NamespaceNotFoundError } from './namespaces/namespace.errors.js';
export { type NamespaceLimits, NO_LIMITS } from './namespaces/namespace.limits.js';
export type { NamespaceRow } from './namespaces/namespace.store.js';
export { type DescribedNamespace, NamespacesService } from './namespaces/namespaces.service.js';
export { NO_QUOTA, type Quota, QuotaExceededError } from './quota.js';
export { WebhookAdmission } from './webhooks/webhook.admission.js';
export { WEBHOOK_OPTIONS, type WebhookOptions } from './webhooks/webhook.options.js';
export { WebhookSecrets } from './webhooks/webhook.secrets.js';
export { WebhookSinks } from './webhooks/webhook.sinks.js';
export { type WebhookFields, WebhookStore } from './webhooks/webhook.store.js';
export { confirmed, type WebhookAnswer, type WebhookRequest, WebhookTransport } from './webhooks/webhook.transport.js';
export { type IssuedWebhook, type Webhook, WEBHOOK_KIND, WebhooksService } from './webhooks/webhooks.service.js';
export { AdminKeyError, AdminKeys } from './keys/admin.keys.js';
export { KeyChanges } from './keys/key.changes.js';
export { type KeyRow, KeyStore } from './keys/key.store.js';
export { type IssuedKey, KeysService, type WantedKey } from './keys/keys.service.js';
export { LeasedWork, type WorkClaim, type WorkEnd, type Worker } from './work/leased-work.js';
export { GroupCommit } from './work/group-commit.js';
export { inBatches } from './work/in-batches.js';
export { type Release, Semaphore } from './work/semaphore.js';
