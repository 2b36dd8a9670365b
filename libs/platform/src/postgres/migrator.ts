import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type QueryRunner } from 'typeorm';
import { sqlState } from './database.errors.js';
import { migrationOptions, type DatabaseOptions, type Schema } from './database.options.js';

/** Any constant does, as long as every version of Rollcall uses the same one. */
const MIGRATION_LOCK = 0x726f6c6c;
const LOCK_RETRY_MS = 200;
const LOCK_WAIT_MS = 5 * 60_000;
const OLDEST_SERVER = 15;

/** SQLSTATEs that someone with more rights can mend. */
const ADVICE: Record<string, string> = {
  '42501':
    'Let an administrator run, in that database: GRANT USAGE, CREATE ON SCHEMA public TO <user of DATABASE_URL>; or make that user the owner of the database and of the tables in it.',
  '3F000':
    'Let an administrator create the schema with: CREATE SCHEMA <name> AUTHORIZATION <user of DATABASE_URL>; or correct the search_path of that user.',
};

export interface MigrateOptions {
  /** Told once, when another replica is at work. */
  onWait?: () => void;
  waitMs?: number;
}

/** The database cannot be used by this version; starting again will not help until someone acts. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError';
}

/**
 * Brings the database to this version's schema and answers the names of the migrations it ran. Any number of replicas
 * may call it at once: a session lock lets one work while the others wait and then find nothing to do.
 */
export async function migrate(
  options: DatabaseOptions,
  schema: Schema,
  { onWait, waitMs = LOCK_WAIT_MS }: MigrateOptions = {},
): Promise<string[]> {
  const dataSource = await new DataSource(migrationOptions(options, schema)).initialize();
  try {
    await using lock = dataSource.createQueryRunner();
    await lock.connect();
    await refuseOldServer(dataSource);
    await takeLock(lock, waitMs, onWait);
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

/** Asks again and again instead of waiting inside Postgres: so it can say that it waits, and give up. */
async function takeLock(lock: QueryRunner, waitMs: number, onWait?: () => void): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (let tries = 1; !(await tryLock(lock)); tries += 1) {
    if (tries === 1) onWait?.();
    if (performance.now() > deadline) throw stillLocked(waitMs);
    await delay(LOCK_RETRY_MS);
  }
}

async function tryLock(lock: QueryRunner): Promise<boolean> {
  const [row] = (await lock.query('SELECT pg_try_advisory_lock($1) AS taken', [MIGRATION_LOCK])) as {
    taken: boolean;
  }[];
  return row?.taken ?? false;
}

function stillLocked(waitMs: number): DatabaseRefusedError {
  return new DatabaseRefusedError(
    `Another process has held the migration lock of this database for more than ${Math.ceil(waitMs / 1_000)} s. If it hangs, ` +
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
  if (Number.parseInt(version, 10) >= OLDEST_SERVER) return;
  throw new DatabaseRefusedError(`Postgres ${version} is too old: Rollcall needs Postgres ${OLDEST_SERVER} or newer.`);
}

/** An older replica writing into a newer schema could do harm, so it does not start. */
async function refuseNewerSchema(dataSource: DataSource, schema: Schema): Promise<void> {
  const [table] = await dataSource.query<{ found: string | null }[]>(`SELECT to_regclass('schema_migration') AS found`);
  if (!table?.found) return;
  const known = new Set(schema.migrations.map((migration) => migration.name));
  const ran = await dataSource.query<{ name: string }[]>('SELECT name FROM schema_migration ORDER BY id');
  const unknown = ran.map((row) => row.name).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new DatabaseRefusedError(
    `The database was migrated by a newer Rollcall (${unknown.join(', ')}). Start that version, or restore a backup.`,
  );
}
