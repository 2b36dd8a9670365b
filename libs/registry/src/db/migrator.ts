import { DataSource } from 'typeorm';
import { migrationOptions, type DatabaseOptions, type Schema } from './database.options.js';

/** Any constant does, as long as every version of Rollcall uses the same one. */
const MIGRATION_LOCK = 0x726f6c6c;
const OLDEST_SERVER = 15;

/** The database cannot be used by this version; starting again will not help until someone acts. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError';
}

/**
 * Brings the database to this version's schema and answers the names of the migrations it ran. Any number of replicas
 * may call it at once: a session lock lets one work while the others wait and then find nothing to do.
 */
export async function migrate(options: DatabaseOptions, schema: Schema): Promise<string[]> {
  const dataSource = await new DataSource(migrationOptions(options, schema)).initialize();
  try {
    await using lock = dataSource.createQueryRunner();
    await lock.connect();
    await refuseOldServer(dataSource);
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await refuseNewerSchema(dataSource, schema);
    const ran = await dataSource.runMigrations({ transaction: 'each' });
    await lock.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return ran.map((migration) => migration.name);
  } finally {
    await dataSource.destroy();
  }
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
