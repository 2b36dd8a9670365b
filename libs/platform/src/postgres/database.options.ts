import type { ClientConfig, PoolConfig } from 'pg';
import type { DataSourceOptions, MixedList } from 'typeorm';
import { clientOf, type PostgresServers } from './servers.js';

export interface DatabaseOptions {
  /** A postgres:// URL. For a Unix socket, the `host` parameter contains its folder. It may name several servers (see `serversIn`). */
  url: string;
  /** Leads to the server without a pooler. For connections that need a session of their own: notifications, snapshots, migrations. */
  directUrl?: string;
  poolSize: number;
  /** The size of a second pool. Only heartbeats, sweeps, the event feed, readiness checks and checks of known API keys use it. */
  reservedPoolSize?: number;
  /** The maximum time that a caller waits for one statement, including the time to get a connection. */
  operationTimeoutMs: number;
  /** The maximum duration of a transaction. */
  transactionTimeoutMs?: number;
}

/** Enough for a batch of heartbeats, a sweep and one short read at the same time. */
export const DEFAULT_RESERVED_POOL_SIZE = 3;
/** The maximum duration of a transaction, as a multiple of the time limit of one statement. */
export const STATEMENTS_PER_TRANSACTION = 6;

export function transactionTimeoutOf({ operationTimeoutMs, transactionTimeoutMs }: DatabaseOptions): number {
  return transactionTimeoutMs ?? operationTimeoutMs * STATEMENTS_PER_TRANSACTION;
}

const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };
/** A statement is sent without waiting for the result of the previous one. */
const PIPELINE = { pipeline: true };

// oxlint-disable-next-line typescript/no-unsafe-function-type -- the type that TypeORM uses for entity and migration classes
type OrmClass = Function;

/** The migrations of one library. The application joins the migrations of all libraries into one timeline. */
export interface Schema {
  migrations: OrmClass[];
}

export function joinSchemas(...parts: Schema[]): Schema {
  return {
    migrations: parts.flatMap((part) => part.migrations).toSorted((a, b) => timestampOf(a) - timestampOf(b)),
  };
}

/** The name of a migration ends with its timestamp. */
function timestampOf(migration: { name: string }): number {
  return Number(/(?<!\d)\d+$/.exec(migration.name)?.[0]);
}

export function ordinaryPoolOptions(options: DatabaseOptions, servers: PostgresServers): PoolConfig {
  return { ...poolOptions(options, servers, 'rollcall'), max: options.poolSize };
}

/** These connections stay open, because they are needed most when the server accepts no new ones. */
export function reservedPoolOptions(options: DatabaseOptions, servers: PostgresServers): PoolConfig {
  const max = options.reservedPoolSize ?? DEFAULT_RESERVED_POOL_SIZE;
  return { ...poolOptions(options, servers, 'rollcall-reserved'), max, idleTimeoutMillis: 0 };
}

function poolOptions(options: DatabaseOptions, servers: PostgresServers, applicationName: string): PoolConfig {
  return {
    Client: clientOf(servers),
    application_name: applicationName,
    ...KEEP_ALIVE,
    ...PIPELINE,
    ...sessionLimits(options),
  };
}

/**
 * All of these limits are necessary: if one of them is missing, callers of a frozen Postgres wait forever (measured).
 *
 * The limits of the server are shorter than those of the client, so a slow statement fails with DATABASE_BUSY and not with
 * DATABASE_UNAVAILABLE. A transaction without activity belongs to a frozen replica: the server ends it and releases its locks after
 * the same time as the timer of the client. A new connection needs several round trips, so opening it may take longer than a
 * statement; the caller that needs it waits only for the time limit of a statement.
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

/** The options of a connection outside the pools. Such a connection has only the time limits of the client. */
export function clientOptions(
  { operationTimeoutMs }: Pick<DatabaseOptions, 'operationTimeoutMs'>,
  applicationName: string,
): ClientConfig {
  return {
    application_name: applicationName,
    connectionTimeoutMillis: operationTimeoutMs,
    query_timeout: operationTimeoutMs,
    ...KEEP_ALIVE,
  };
}

/**
 * TypeORM only runs migrations, on its own connections. A migration may take a long time, but connecting to a server that does not
 * respond fails within seconds. Migrations do not need the entities, which describe the tables.
 */
export function migrationOptions(url: string, schema: Schema, entities: OrmClass[] = []): DataSourceOptions {
  return {
    type: 'postgres',
    url,
    applicationName: 'rollcall',
    entities: entities as MixedList<() => unknown>,
    migrations: schema.migrations as MixedList<() => unknown>,
    migrationsTableName: 'schema_migration',
    installExtensions: false,
    uuidExtension: 'pgcrypto',
    synchronize: false,
    logging: false,
    extra: { ...KEEP_ALIVE, max: 2, connectionTimeoutMillis: 5_000 },
  };
}
