import type { EventCatalog } from './events/event.catalog.js';
import type { DatabaseOptions } from './postgres/database.options.js';
import type { Database } from './postgres/database.js';

export interface PlatformOptions {
  /** The module closes the database when it shuts down, even if the caller created the database. */
  database: Database | DatabaseOptions;
  /** The event types of all libraries of the application. */
  catalog: EventCatalog;
  /** The retention limits: events older than `keepMs` are deleted, and the oldest events if there are more than `keepCount`. */
  events: { keepMs: number; keepCount: number };
  sinks: SinkOptions;
}

interface SinkOptions {
  /** How long delivery records are kept. */
  keepDeliveriesMs: number;
  /** The duration of the lease on a sink. A replica that does not renew it in time loses the sink. */
  leaseMs?: number;
}

/** Injection token of `PlatformOptions`. */
export const PLATFORM_OPTIONS = Symbol('platform options');
