import { Client } from 'pg';
import { until } from '#rollcall/test-support';
import { dropDatabase, emptyDatabase } from '../testing/test-database.js';
import { DatabaseRefusedError } from './database.errors.js';
import type { DatabaseOptions } from './database.options.js';
import { migrate } from './migrator.js';

const LOCK = 0x726f6c6c;
const ROLE = 'migrator_without_privileges';
const NOTHING = { migrations: [] };

let url: string;
let admin: Client;

beforeEach(async () => {
  url = await emptyDatabase();
  admin = new Client({ connectionString: url });
  await admin.connect();
});
afterEach(async () => {
  await admin.end();
  await dropDatabase(url);
});

const optionsFor = (at: string): DatabaseOptions => ({ url: at, poolSize: 2, operationTimeoutMs: 1_500 });

describe('a migration while another replica migrates', () => {
  beforeEach(async () => void (await admin.query('SELECT pg_advisory_lock($1)', [LOCK])));

  it('a migration waits for another replica, reports the wait once, and continues when that replica has finished', async () => {
    let reports = 0;
    const migrated = migrate(optionsFor(url), NOTHING, { onWait: () => (reports += 1) });
    await until('the migration waits', () => reports > 0);
    await admin.query('SELECT pg_sleep(0.5), pg_advisory_unlock($1)', [LOCK]);
    expect(await migrated).toEqual([]);
    expect(reports).toBe(1);
  });

  it('a migration fails after the maximum wait, and names the lock in the message', async () => {
    const rejected = migrate(optionsFor(url), NOTHING, { waitMs: 300 });
    await expect(rejected).rejects.toThrow(DatabaseRefusedError);
    const [{ hint }] = (await admin.query(`SELECT objid::text AS hint FROM pg_locks WHERE locktype = 'advisory'`))
      .rows as [{ hint: string }];
    await expect(rejected).rejects.toThrow(`objid = ${hint}`);
  });
});

describe('a migration that needs an administrator', () => {
  it('a migration fails and names the missing GRANT when the user cannot create tables', async () => {
    await admin.query(`CREATE ROLE ${ROLE} LOGIN`);
    const limited = new URL(url);
    limited.username = ROLE;
    try {
      const rejected = migrate(optionsFor(limited.toString()), NOTHING);
      await expect(rejected).rejects.toThrow(DatabaseRefusedError);
      await expect(rejected).rejects.toThrow('GRANT USAGE, CREATE ON SCHEMA public');
    } finally {
      await admin.query(`DROP ROLE ${ROLE}`);
    }
  });

  it('a migration fails and names the missing CREATE SCHEMA when the search path contains no schema', async () => {
    const withoutSchema = new URL(url);
    withoutSchema.searchParams.set('options', '-c search_path=nowhere');
    const rejected = migrate(optionsFor(withoutSchema.toString()), NOTHING);
    await expect(rejected).rejects.toThrow(DatabaseRefusedError);
    await expect(rejected).rejects.toThrow('CREATE SCHEMA');
  });
});
