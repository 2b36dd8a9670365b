import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres, migrate } from '#rollcall/platform';
import { emptyDatabase } from '#rollcall/platform/testing';
import { SCHEMA } from '../../apps/api/src/boot/start.js';

export interface BenchPostgres {
  /** A migrated database. */
  url: string;
  /**
   * Updates the statistics of all databases. Autovacuum does this within about a minute after a table is filled. Until then, Postgres
   * executes some statements with plans for empty tables, so the rates of a short benchmark would depend on when autovacuum runs.
   */
  analyze(): Promise<void>;
  stop(): Promise<void>;
}

/** The Postgres of the tests, if a test runs this program. */
const testUrl = process.env['TEST_POSTGRES_URL'];

/** Starts a Postgres with durable commits, as in a deployment. In a test, returns the Postgres of the tests. */
export async function startPostgres(): Promise<BenchPostgres> {
  if (testUrl) return { url: testUrl, analyze: async () => await analyze(testUrl), stop: async () => undefined };
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const postgres = await EmbeddedPostgres.start({ folder });
  process.env['TEST_POSTGRES_URL'] = postgres.url();
  const url = await emptyDatabase();
  await migrate({ url, poolSize: 2, operationTimeoutMs: 5_000 }, SCHEMA);
  process.env['TEST_POSTGRES_TEMPLATE'] = new URL(url).pathname.slice(1);
  const stop = async (): Promise<void> => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, analyze: async () => await analyze(url), stop };
}

async function analyze(url: string): Promise<void> {
  const names = await query<{ name: string }>(url, 'SELECT datname AS name FROM pg_database WHERE NOT datistemplate');
  for (const { name } of names) await query(Object.assign(new URL(url), { pathname: `/${name}` }).href, 'ANALYZE');
}

async function query<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}
