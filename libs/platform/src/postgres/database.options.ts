import type { ClientConfig, PoolConfig } from 'pg';
import type { DataSourceOptions, MixedList } from 'typeorm';

export interface DatabaseOptions {
  /** A postgres:// URL. A socket folder goes into the `host` parameter. */
  url: string;
  poolSize: number;
  /** Connections beside the pool that only beats, sweeps and readiness use. */
  reservedPoolSize?: number;
  /** The longest a caller waits for the answer to one statement; for the first one with its connection. */
  operationTimeoutMs: number;
  /** The longest a whole transaction may take. */
  transactionTimeoutMs?: number;
}

/** One for each batch of beats that may be under way at the same time; a sweep waits for the end of a batch. */
export const USUAL_RESERVED_POOL_SIZE = 3;
/** A transaction may take as long as this many statements. */
export const STATEMENTS_PER_TRANSACTION = 6;

export function transactionTimeoutOf({ operationTimeoutMs, transactionTimeoutMs }: DatabaseOptions): number {
  return transactionTimeoutMs ?? operationTimeoutMs * STATEMENTS_PER_TRANSACTION;
}

const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
/** Statements are sent without waiting for the result of the one before. */
const PIPELINE = { pipeline: true };

/** The tables and migrations of one library. The application joins those of all libraries into one timeline. */
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

export function ordinaryPoolOptions(options: DatabaseOptions): PoolConfig {
  return { ...poolOptions(options, 'rollcall'), max: options.poolSize };
}

/** These connections stay open, because they are needed most when the server accepts no new ones. */
export function reservedPoolOptions(options: DatabaseOptions): PoolConfig {
  const max = options.reservedPoolSize ?? USUAL_RESERVED_POOL_SIZE;
  return { ...poolOptions(options, 'rollcall-reserved'), max, idleTimeoutMillis: 0 };
}

function poolOptions(options: DatabaseOptions, applicationName: string): PoolConfig {
  return {
    connectionString: options.url,
    application_name: applicationName,
    ...KEEP_ALIVE,
    ...PIPELINE,
    ...sessionLimits(options),
  };
}

/**
 * All of these are needed: with any one missing, a frozen Postgres hangs its callers for ever (measured).
 * The server's own limits are shorter than ours, so that a slow statement ends as "busy", not as "gone". A transaction in
 * which nothing happens is that of a frozen replica: the server ends it, and releases its locks, as soon as our own timer
 * would have. A new connection needs several round trips, so it may take longer than a statement; the caller who asked for
 * it does not wait that long.
 */
export function sessionLimits({ operationTimeoutMs }: Pick<DatabaseOptions, 'operationTimeoutMs'>): PoolConfig {
  return {
    connectionTimeoutMillis: operationTimeoutMs * 2,
    query_timeout: operationTimeoutMs,
    statement_timeout: Math.floor(operationTimeoutMs * 0.8),
    lock_timeout: Math.floor(operationTimeoutMs * 0.6),
    idle_in_transaction_session_timeout: operationTimeoutMs,
  };
}

/** The same limits for a connection outside the pool. */
export function clientOptions({ url, operationTimeoutMs }: DatabaseOptions, applicationName: string): ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: operationTimeoutMs,
    query_timeout: operationTimeoutMs,
    ...KEEP_ALIVE,
  };
}

/**
 * TypeORM is used for entities and migrations only, on connections of its own. A migration may take long; connecting to a
 * server that does not answer fails within seconds.
 */
export function migrationOptions(options: DatabaseOptions, schema: Schema): DataSourceOptions {
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
    extra: { ...KEEP_ALIVE, max: 2, connectionTimeoutMillis: 5_000 },
  };
}
