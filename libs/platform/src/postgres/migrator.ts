import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Client } from 'pg';
import type { DataSource, QueryRunner } from 'typeorm';
import { DatabaseRefusedError, sqlState } from './database.errors.js';
import { clientOptions, type DatabaseOptions, migrationOptions, type Schema } from './database.options.js';
import { findWritable } from './servers.js';

/** An arbitrary constant. Every version of Rollcall must use the same one. */
const MIGRATION_LOCK = 0x726f6c6c;
const LOCK_RETRY_MS = 200;
const LOCK_WAIT_MS = 5 * 60_000;
const MIN_SERVER_VERSION = 15;

/** SQLSTATEs of errors that an administrator of the database can fix. */
const ADVICE: Record<string, string> = {
  '42501':
    'Ask an administrator to run in this database: GRANT USAGE, CREATE ON SCHEMA public TO <user of DATABASE_URL>; or make that user the owner of the database and of the tables in it.',
  '3F000':
    'Ask an administrator to create the schema with: CREATE SCHEMA <name> AUTHORIZATION <user of DATABASE_URL>; or correct the search_path of that user.',
};

interface MigrateOptions {
  /** Called once if another replica is running migrations. */
  onWait?: () => void;
  waitMs?: number;
}

/**
 * Migrates the database to the schema of this version and returns the names of the migrations that ran. Any number of
 * replicas may call it at the same time: a session lock lets one of them run the migrations while the others wait.
 */
export async function migrate(
  options: DatabaseOptions,
  schema: Schema,
  { onWait, waitMs = LOCK_WAIT_MS }: MigrateOptions = {},
): Promise<string[]> {
  const limits = clientOptions(options, 'rollcall');
  const url = await findWritable(options.directUrl ?? options.url, limits);
  if (await isCurrent(new Client({ ...limits, connectionString: url }), schema)) return [];
  const typeorm = await import('typeorm'); // a large package, which only migrations need
  const dataSource = await new typeorm.DataSource(migrationOptions(url, schema)).initialize();
  try {
    await using lock = dataSource.createQueryRunner();
    await lock.connect();
    await refuseOldServer(dataSource);
    await acquireLock(lock, waitMs, onWait);
    await refuseNewerSchema(dataSource, schema);
    const ran = await dataSource.runMigrations({ transaction: 'each' });
    await lock.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return ran.map((migration) => migration.name);
  } catch (error) {
    throw explain(error);
  } finally {
    await dataSource.destroy();
  }
}

/** Whether all migrations of this version have run, and no others. Any problem is left to the caller, which can explain it. */
async function isCurrent(client: Client, schema: Schema): Promise<boolean> {
  client.on('error', () => undefined); // if the connection breaks later, the query fails
  try {
    await client.connect();
    const { rows } = await client.query<{ name: string; server: number }>(
      `SELECT name, current_setting('server_version_num')::int / 10000 AS server FROM schema_migration`,
    );
    const isComplete = isDeepStrictEqual(
      rows.map(({ name }) => name).toSorted(),
      schema.migrations.map(({ name }) => name).toSorted(),
    );
    return isComplete && rows.every(({ server }) => server >= MIN_SERVER_VERSION);
  } catch {
    return false; // such as a database without the table
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Polls for the lock instead of waiting in Postgres, so that it can report the wait and stop after a timeout. */
async function acquireLock(lock: QueryRunner, waitMs: number, onWait?: () => void): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (let attempt = 1; !(await tryLock(lock)); attempt += 1) {
    if (attempt === 1) onWait?.();
    if (performance.now() > deadline) throw lockTimeout(waitMs);
    await delay(LOCK_RETRY_MS);
  }
}

async function tryLock(lock: QueryRunner): Promise<boolean> {
  const [row] = (await lock.query('SELECT pg_try_advisory_lock($1) AS acquired', [MIGRATION_LOCK])) as {
    acquired: boolean;
  }[];
  return row?.acquired ?? false;
}

function lockTimeout(waitMs: number): DatabaseRefusedError {
  return new DatabaseRefusedError(
    `Another process has held the migration lock of this database for more than ${Math.ceil(waitMs / 1_000)} s. If that process hangs, ` +
      `end its session: SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = ${MIGRATION_LOCK};`,
  );
}

function explain(error: unknown): unknown {
  const advice = ADVICE[sqlState(error) ?? ''];
  if (!advice || !(error instanceof Error)) return error;
  return new DatabaseRefusedError(`The database cannot be migrated: ${error.message}. ${advice}`, { cause: error });
}

async function refuseOldServer(dataSource: DataSource): Promise<void> {
  const [row] = await dataSource.query<{ server_version: string }[]>('SHOW server_version');
  const version = row?.server_version ?? 'unknown';
  if (Number.parseInt(version, 10) >= MIN_SERVER_VERSION) return;
  throw new DatabaseRefusedError(
    `Postgres ${version} is too old: Rollcall needs Postgres ${MIN_SERVER_VERSION} or newer.`,
  );
}

/** An older replica could damage the data of a newer schema, so it does not start. */
async function refuseNewerSchema(dataSource: DataSource, schema: Schema): Promise<void> {
  const [table] = await dataSource.query<{ name: string | null }[]>(`SELECT to_regclass('schema_migration') AS name`);
  if (!table?.name) return;
  const known = new Set(schema.migrations.map((migration) => migration.name));
  const ran = await dataSource.query<{ name: string }[]>('SELECT name FROM schema_migration ORDER BY id');
  const unknown = ran.map((row) => row.name).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new DatabaseRefusedError(
    `The database was migrated by a newer Rollcall (${unknown.join(', ')}). Start that version, or restore a backup from before the migration.`,
  );
}
