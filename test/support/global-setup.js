/** Starts one real Postgres for the whole run, with a migrated template database that each suite clones. */
import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { build } from '../../bin/build.js';

const TEMPLATE = 'rollcall_template';
/** The data is deleted after the run, so it need not survive a power failure. */
const SETTINGS = ['fsync=off', 'max_connections=400', 'shared_buffers=256MB'];

/** A file system in memory. On disk, cloning and dropping a database takes several times as long, mostly in the kernel. */
const MEMORY = '/dev/shm';
const NEEDED_BYTES = 4 * 1024 ** 3;

function parentFolder() {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return Math.min(bavail * bsize, process.availableMemory() / 2) >= NEEDED_BYTES ? MEMORY : tmpdir();
}

export default async function setup() {
  build();
  const { EmbeddedPostgres, migrate } = await import('../../dist/libs/platform/src/index.js');
  const { SCHEMA } = await import('../../dist/apps/api/src/boot/start.js');
  process.env.TEST_FOLDER = parentFolder();
  const folder = mkdtempSync(join(process.env.TEST_FOLDER, 'rollcall-test-'));
  const postgres = await EmbeddedPostgres.start({ folder, settings: SETTINGS });
  const admin = new Client({ connectionString: postgres.url() });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${TEMPLATE}`);
  await migrate({ url: postgres.url(TEMPLATE), poolSize: 2, operationTimeoutMs: 5_000 }, SCHEMA);
  await admin.query(`ALTER DATABASE ${TEMPLATE} IS_TEMPLATE true ALLOW_CONNECTIONS false`);
  await admin.end();
  // The suites start several dozen server processes, which compile the same 3,400 files.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compile-cache');
  process.env.TEST_POSTGRES_URL = postgres.url();
  process.env.TEST_POSTGRES_TEMPLATE = TEMPLATE;
  globalThis.testPostgres = { postgres, folder };
}
