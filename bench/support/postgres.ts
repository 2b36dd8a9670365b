import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres, migrate } from '#rollcall/platform';
import { emptyDatabase } from '#rollcall/platform/testing';
import { SCHEMA } from '../../apps/api/src/boot/start.js';

export interface BenchPostgres {
  /** A migrated database. */
  url: string;
  stop(): Promise<void>;
}

/** The Postgres of the tests, if a test runs this program. */
const testUrl = process.env['TEST_POSTGRES_URL'];

/** Starts a Postgres with durable commits, as in a deployment. In a test, returns the Postgres of the tests. */
export async function startPostgres(): Promise<BenchPostgres> {
  if (testUrl) return { url: testUrl, stop: async () => undefined };
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
  return { url, stop };
}
