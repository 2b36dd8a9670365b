import type { ClientConfig } from 'pg';
import type { DataSourceOptions, MixedList } from 'typeorm';

export interface DatabaseOptions {
  /** A postgres:// URL. A socket folder goes into the `host` parameter. */
  url: string;
  poolSize: number;
  /** The longest a caller ever waits for one query or transaction, connection included. */
  operationTimeoutMs: number;
}

/** What a room owns in the database. The composition root joins the rooms' parts into one timeline. */
export interface Schema {
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- TypeORM's own word for "an entity or migration class"
  entities: Function[];
  // oxlint-disable-next-line typescript/no-unsafe-function-type -- see above
  migrations: Function[];
}

export function joinSchemas(...parts: Schema[]): Schema {
  return {
    entities: parts.flatMap((part) => part.entities),
    migrations: parts.flatMap((part) => part.migrations).toSorted((a, b) => timestampOf(a) - timestampOf(b)),
  };
}

/** A migration's name ends with it. */
function timestampOf(migration: { name: string }): number {
  return Number(/(?<!\d)\d+$/.exec(migration.name)?.[0]);
}

/**
 * All of these are needed: with any one missing, a frozen Postgres hangs its callers for ever (measured).
 * The server's own limits are shorter than ours, so that a slow statement ends as "busy", not as "gone".
 */
export function dataSourceOptions(options: DatabaseOptions, schema: Schema): DataSourceOptions {
  const { operationTimeoutMs } = options;
  return base(options, schema, {
    max: options.poolSize,
    connectionTimeoutMillis: operationTimeoutMs,
    query_timeout: operationTimeoutMs,
    statement_timeout: Math.floor(operationTimeoutMs * 0.8),
    lock_timeout: Math.floor(operationTimeoutMs * 0.6),
    idle_in_transaction_session_timeout: operationTimeoutMs * 4,
  });
}

/** The same limits for a connection outside the pool. */
export function clientOptions({ url, operationTimeoutMs }: DatabaseOptions, applicationName: string): ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: operationTimeoutMs,
    query_timeout: operationTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  };
}

/** For migrations: they may take their time, but never hang on a server that is not there. */
export function migrationOptions(options: DatabaseOptions, schema: Schema): DataSourceOptions {
  return base(options, schema, { max: 2, connectionTimeoutMillis: 5_000 });
}

function base(options: DatabaseOptions, schema: Schema, pool: Record<string, unknown>): DataSourceOptions {
  return {
    type: 'postgres',
    url: options.url,
    applicationName: 'rollcall',
    entities: schema.entities as MixedList<() => unknown>,
    migrations: schema.migrations as MixedList<() => unknown>,
    migrationsTableName: 'schema_migration',
    installExtensions: false,
    uuidExtension: 'pgcrypto',
    synchronize: false,
    logging: false,
    extra: { keepAlive: true, keepAliveInitialDelayMillis: 10_000, ...pool },
  };
}
