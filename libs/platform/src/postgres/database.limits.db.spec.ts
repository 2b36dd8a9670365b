import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { SlowProxy } from '../testing/slow-proxy.js';
import { testDatabase, type TestDatabase } from '../testing/test-database.js';
import { until } from '#rollcall/test-support';
import type { Database } from './database.js';
import { sessionLimits } from './database.options.js';

let database: TestDatabase;
let observer: Client;

beforeEach(async () => {
  database = await testDatabase();
  await database.db.query('CREATE TABLE counter (id int PRIMARY KEY, value int NOT NULL)');
  await database.db.query('INSERT INTO counter SELECT id, 0 FROM generate_series(1, 100) AS id');
  observer = new Client({ connectionString: database.url });
  observer.on('error', () => undefined); // a test may terminate this connection
  await observer.connect();
});
afterEach(async () => {
  await observer.end();
  await database.drop();
});

const increment = async (db: Database, id: number): Promise<unknown> =>
  await db.query('UPDATE counter SET value = value + 1 WHERE id = $1', [id]);

describe('a replica that freezes during a transaction', () => {
  it('D5 a replica that freezes during a transaction loses its row locks, because the server ends the transaction', async () => {
    const operationTimeoutMs = 1_000;
    const db = await database.connectAgain({ operationTimeoutMs });
    const frozen = new Client({ connectionString: database.url, ...sessionLimits({ operationTimeoutMs }) });
    frozen.on('error', () => undefined); // the server terminates this connection
    await frozen.connect();
    await frozen.query('BEGIN');
    await frozen.query('UPDATE counter SET value = value + 1 WHERE id = 1');
    await until('another replica can update the row', async () => await succeeds(increment(db, 1)));
    expect(await observer.query('SELECT value FROM counter WHERE id = 1')).toMatchObject({ rows: [{ value: 1 }] });
  });
});

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}

describe('a slow network', () => {
  let proxy: SlowProxy;
  afterEach(() => proxy.stop());

  it('D6 a slow network does not extend a transaction beyond its own limit, even if each statement is fast enough', async () => {
    proxy = await SlowProxy.start(database.url, 50);
    const db = await database.connectAgain({
      url: proxy.url,
      operationTimeoutMs: 500,
      transactionTimeoutMs: 1_000,
    });
    const endless = db.transaction(async () => {
      for (;;) await increment(db, 1);
    });
    await expect(endless).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
  });
});

describe('reserved connections', () => {
  it('D7 queries share the reserved connections, and wait for a free one, when the server accepts no more connections', async () => {
    const role = `limited_${randomBytes(4).toString('hex')}`;
    await database.db.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 3`);
    await database.db.query(`GRANT ALL ON counter TO ${role}`);
    const url = new URL(database.url);
    url.username = role;
    const db = await database.connectAgain({ url: url.toString(), poolSize: 20, reservedPoolSize: 10 });
    const heartbeats = Array.from({ length: 30 }, async () => await db.query('SELECT pg_sleep(0.02)', [], 'reserved'));
    expect((await Promise.allSettled(heartbeats)).filter(({ status }) => status === 'rejected')).toEqual([]);
    await db.close();
    await database.db.query(`DROP OWNED BY ${role}`);
    await database.db.query(`DROP ROLE ${role}`);
  });
});

describe('a database server without free resources', () => {
  it.each([
    ['53100', 'The disk of the database is full'],
    ['53300', 'The database accepts no more connections'],
  ])('SQLSTATE %s is an error that names the cause: %s (N6)', async (state, message) => {
    await observer.query(`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '${state}'; END $$`);
    await observer.query('CREATE TRIGGER fail BEFORE UPDATE ON counter EXECUTE FUNCTION fail()');
    await expect(increment(database.db, 1)).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining(message) as string,
    });
  });
});
