import { Client } from 'pg';
import { dropDatabase, emptyDatabase } from '../testing/test-database.js';
import { until } from '#rollcall/test-support';
import type { DatabaseOptions } from './database.options.js';
import { DatabaseRefusedError, migrate } from './migrator.js';

const LOCK = 0x726f6c6c;
const ROLE = 'migrator_without_rights';
const NOTHING = { entities: [], migrations: [] };

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

describe('while another replica migrates', () => {
  beforeEach(async () => void (await admin.query('SELECT pg_advisory_lock($1)', [LOCK])));

  it('waits, says so once, and goes on when the other is through', async () => {
    let told = 0;
    const migrated = migrate(optionsFor(url), NOTHING, { onWait: () => (told += 1) });
    await until('it waits', () => told > 0);
    await admin.query('SELECT pg_sleep(0.5), pg_advisory_unlock($1)', [LOCK]);
    expect(await migrated).toEqual([]);
    expect(told).toBe(1);
  });

  it('gives up after a while, with a way out', async () => {
    const refused = migrate(optionsFor(url), NOTHING, { waitMs: 300 });
    await expect(refused).rejects.toThrow(DatabaseRefusedError);
    const [{ hint }] = (await admin.query(`SELECT objid::text AS hint FROM pg_locks WHERE locktype = 'advisory'`))
      .rows as [{ hint: string }];
    await expect(refused).rejects.toThrow(`objid = ${hint}`);
  });
});

describe('what an administrator must mend', () => {
  it('a user without the right to make tables', async () => {
    await admin.query(`CREATE ROLE ${ROLE} LOGIN`);
    const limited = new URL(url);
    limited.username = ROLE;
    try {
      const refused = migrate(optionsFor(limited.toString()), NOTHING);
      await expect(refused).rejects.toThrow(DatabaseRefusedError);
      await expect(refused).rejects.toThrow('GRANT USAGE, CREATE ON SCHEMA public');
    } finally {
      await admin.query(`DROP ROLE ${ROLE}`);
    }
  });

  it('a search path that leads to no schema', async () => {
    const astray = new URL(url);
    astray.searchParams.set('options', '-c search_path=nowhere');
    const refused = migrate(optionsFor(astray.toString()), NOTHING);
    await expect(refused).rejects.toThrow(DatabaseRefusedError);
    await expect(refused).rejects.toThrow('CREATE SCHEMA');
  });
});
