import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { Database } from '../postgres/database.js';
import type { DatabaseOptions } from '../postgres/database.options.js';

export interface TestDatabase {
  url: string;
  db: Database;
  /** Opens another connection pool on the same database, like another replica. */
  connectAgain(options?: Partial<DatabaseOptions>): Promise<Database>;
  /**
   * Creates another database with the same contents, like a restored backup. It terminates all connections of this
   * database.
   */
  copy(): Promise<TestDatabase>;
  drop(): Promise<void>;
}

/** Creates a separate database for a test suite: a clone of the migrated template. */
export async function testDatabase(options: Partial<DatabaseOptions> = {}): Promise<TestDatabase> {
  return await openDatabase(await cloneTemplate(process.env['TEST_POSTGRES_TEMPLATE'] ?? ''), options);
}

async function openDatabase(url: string, options: Partial<DatabaseOptions>): Promise<TestDatabase> {
  const opened: Database[] = [];
  const connectAgain = async (more: Partial<DatabaseOptions> = {}): Promise<Database> => {
    const database = new Database({ url, poolSize: 10, operationTimeoutMs: 5_000, ...options, ...more });
    opened.push(database);
    return database;
  };
  const db = await connectAgain();
  const drop = async (): Promise<void> => {
    await Promise.all(opened.map(async (database) => await database.close()));
    await dropDatabase(url);
  };
  const copy = async (): Promise<TestDatabase> => await openDatabase(await cloneDatabase(url), options);
  return { url, db, connectAgain, copy, drop };
}

/** Creates an empty database, as in a new installation. */
export async function emptyDatabase(): Promise<string> {
  return await cloneTemplate('template0');
}

export async function dropDatabase(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await asAdmin(async (client) => await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
}

/**
 * Postgres can only clone a database without connections, so all connections are terminated. Clients reconnect
 * afterwards.
 */
async function cloneDatabase(url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1);
  await asAdmin(async (client) => {
    await client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await client.query('SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1', [name]);
  });
  try {
    return await cloneTemplate(name);
  } finally {
    await asAdmin(async (client) => await client.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`));
  }
}

async function cloneTemplate(template: string): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await asAdmin(
    async (client) => await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`),
  );
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.toString();
}

async function asAdmin(work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

function serverUrl(): string {
  const url = process.env['TEST_POSTGRES_URL'];
  if (!url)
    throw new Error('TEST_POSTGRES_URL is not set: run the tests with npm test, which starts a Postgres server');
  return url;
}
