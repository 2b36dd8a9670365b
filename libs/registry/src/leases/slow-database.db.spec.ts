import { Client } from 'pg';
import type { Database } from '#rollcall/platform';
import { SlowProxy, testDatabase, type TestDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { testRegistry } from '../testing/test-registry.js';

let database: TestDatabase;

beforeEach(async () => (database = await testDatabase()));
afterEach(async () => await database.drop());

describe('a slow network', () => {
  it('D6 a registration does not exceed the operation timeout if each round trip takes 400 ms', async () => {
    const proxy = await SlowProxy.start(database.url, 400);
    const db = await database.connectAgain({ url: proxy.url, operationTimeoutMs: 3_000 });
    const registry = await testRegistry(db);
    const { record } = await registry.given.agent({ agentId: 'far' });
    expect(record.agentId).toBe('far');
    await registry.idle();
    proxy.stop();
  });
});

describe('connections reserved for heartbeats', () => {
  it('D7 reserved connections serve heartbeats while every other connection waits for a row lock', async () => {
    const lockHolder = await connectLockHolder();
    const db = await database.connectAgain({ poolSize: 4, operationTimeoutMs: 30_000 });
    const registry = await testRegistry(db);
    const { credential } = await registry.given.agent({ agentId: 'beating' });
    await registry.idle();
    await lockHolder.query('BEGIN; UPDATE counter SET value = value + 1');
    const writers = Promise.allSettled(Array.from({ length: 40 }, async (_, id) => await increment(db, id + 1)));
    await until('the other connections wait for the lock', async () => (await countWaiting()) === 4);
    for (let times = 0; times < 20; times++) {
      expect(await registry.heartbeats.beatAll([credential])).toMatchObject([{ ok: true }]);
    }
    expect((await registry.sweeper.sweep()).swept).toBe(true);
    expect(await countWaiting()).toBe(4);
    await lockHolder.query('ROLLBACK');
    await writers;
    await lockHolder.end();
    await registry.idle();
  });
});

/** Creates a table, and connects the client that locks its rows. */
async function connectLockHolder(): Promise<Client> {
  await database.db.query('CREATE TABLE counter (id int PRIMARY KEY, value int NOT NULL)');
  await database.db.query('INSERT INTO counter SELECT id, 0 FROM generate_series(1, 40) AS id');
  const client = new Client({ connectionString: database.url });
  await client.connect();
  return client;
}

const increment = async (db: Database, id: number): Promise<unknown> =>
  await db.query('UPDATE counter SET value = value + 1 WHERE id = $1', [id]);

async function countWaiting(): Promise<number> {
  const [row] = await database.db.query<{ count: number }>(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row?.count ?? 0;
}
