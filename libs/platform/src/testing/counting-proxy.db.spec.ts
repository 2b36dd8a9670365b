import type { Database } from '../postgres/database.js';
import { CountingProxy } from './counting-proxy.js';
import { testDatabase, type TestDatabase } from './test-database.js';

const INSERT = 'INSERT INTO noted (text) VALUES ($1)';
const NAMED_INSERT = { name: 'note', text: INSERT };

let database: TestDatabase;
let proxy: CountingProxy;
let db: Database;

beforeAll(async () => {
  database = await testDatabase();
  await database.db.query('CREATE TABLE noted (text text NOT NULL)');
  proxy = await CountingProxy.start(database.url);
  db = await database.connectAgain({ url: proxy.url, poolSize: 2 });
  await Promise.all([db.query('SELECT pg_sleep(0.05)'), db.query('SELECT pg_sleep(0.05)')]); // opens both connections
});
afterAll(async () => {
  proxy.stop();
  await database.drop();
});

const counted = async (work: () => Promise<unknown>): Promise<{ roundTrips: number; commits: number }> => {
  const { roundTrips, commits } = await proxy.count(work);
  return { roundTrips, commits };
};

describe('the counts of CountingProxy', () => {
  it('a read outside a transaction is a round trip and no commit', async () => {
    expect(await counted(async () => await db.query('SELECT 1'))).toEqual({ roundTrips: 1, commits: 0 });
  });

  it('a write outside a transaction is a commit, also if the statement was prepared before', async () => {
    const write = async (): Promise<unknown> => await db.query(NAMED_INSERT, ['one']);
    await write();
    expect(await counted(write)).toEqual({ roundTrips: 1, commits: 1 });
  });

  it('a transaction that only locks rows is a commit, and a transaction that only reads is none', async () => {
    const inside = (sql: string) => async (): Promise<unknown> => await db.transaction(async () => await db.query(sql));
    expect(await counted(inside('SELECT * FROM noted FOR UPDATE'))).toEqual({ roundTrips: 2, commits: 1 });
    expect(await counted(inside('SELECT * FROM noted'))).toEqual({ roundTrips: 2, commits: 0 });
  });

  it('writes that fail, change no row or are rolled back are no commits', async () => {
    const failing = async (work: () => Promise<unknown>): Promise<void> =>
      await expect(work()).rejects.toThrow(/not-null|rolled back/);
    const failWithCommit = async (): Promise<void> => db.sendWithCommit({ sql: INSERT, parameters: [null] });
    const { commits } = await counted(async () => {
      await failing(async () => await db.query(INSERT, [null]));
      await db.query("UPDATE noted SET text = 'x' WHERE text = 'absent'");
      await failing(async () => await db.transaction(failWithCommit));
      const rolledBack = async (): Promise<void> => {
        await db.query(INSERT, ['two']);
        throw new Error('rolled back');
      };
      await failing(async () => await db.transaction(rolledBack));
    });
    expect(commits).toBe(0);
  });

  it('round trips of two connections at the same time count once in the sequence', async () => {
    const traffic = await proxy.count(async () => {
      await Promise.all([db.query('SELECT 1'), db.query('SELECT 2')]);
      await db.query('SELECT 3');
    });
    expect(traffic).toMatchObject({ roundTrips: 3, roundTripsInSequence: 2 });
  });

  it('a transaction is left out if a statement of it is excluded and it has no other write, and also if it was open before', async () => {
    const opened = Promise.withResolvers<void>();
    const isOpen = Promise.withResolvers<void>();
    const before = db.transaction(async () => {
      await db.query(INSERT, ['before']);
      isOpen.resolve();
      await opened.promise;
    });
    await isOpen.promise;
    const traffic = await proxy.count(async () => {
      opened.resolve();
      await before;
      await db.transaction(async () => await db.query('SELECT 5'));
      await db.query(INSERT, ['after']);
    });
    expect(traffic).toMatchObject({ roundTrips: 3, commits: 1 });
    expect(traffic.without([/SELECT 5/])).toMatchObject({ roundTrips: 1, commits: 1 });
    const both = await proxy.count(async () => {
      await db.transaction(async () => await Promise.all([db.query('SELECT 5'), db.query(INSERT, ['with'])]));
    });
    expect(both.without([/SELECT 5/])).toMatchObject({ roundTrips: both.roundTrips, commits: 1 });
  });

  it('the text of the traffic lists the statements in order and marks the commits', async () => {
    const traffic = await proxy.count(
      async () => await db.transaction(async () => await db.query(NAMED_INSERT, ['x'])),
    );
    const lines = traffic.toString().split('\n');
    expect(lines.map((line) => line.replace(/^ *(\d+) .*connection \d+ +/, '$1 '))).toEqual([
      '1 BEGIN',
      `2 note: ${INSERT}`,
      '3 COMMIT  [commit]',
    ]);
  });
});
