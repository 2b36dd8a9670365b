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

/** Of the tests, if they are what runs us. */
const given = process.env['TEST_POSTGRES_URL'];

/** A Postgres as an installation has it: what is committed is on the disk. Within the tests, the one they have. */
export async function startPostgres(): Promise<BenchPostgres> {
  if (given) return { url: given, stop: async () => undefined };
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
