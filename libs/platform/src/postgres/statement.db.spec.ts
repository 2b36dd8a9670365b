import { Client, type ClientBase } from 'pg';
import { CountingProxy, testDatabase, type TestDatabase } from '../testing/index.js';
import type { Database } from './database.js';
import { isDirect, toQuery } from './statement.js';

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await testDatabase();
  await database.db.query('CREATE TABLE noted (id bigint GENERATED ALWAYS AS IDENTITY, text text NOT NULL)');
  client = new Client({ connectionString: database.url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  await database.drop();
});

const noted = async (): Promise<string[]> =>
  (await database.db.query<{ text: string }>('SELECT text FROM noted ORDER BY id')).map(({ text }) => text);
const prepared = async (on: ClientBase): Promise<string[]> =>
  (await on.query<{ name: string }>('SELECT name FROM pg_prepared_statements')).rows.map(({ name }) => name);

describe('named statements', () => {
  const COUNT = { sql: { name: 'count_noted', text: 'SELECT count(*)::int AS count FROM noted' }, parameters: [] };

  it('prepares named statements on a direct connection to Postgres', async () => {
    await client.query(toQuery(COUNT, await isDirect(client)));
    expect(await prepared(client)).toEqual(['count_noted']);
  });

  it('sends named statements as text through a pooler, which reports another process id than the server', async () => {
    Object.assign(client, { processID: 1 });
    expect((await client.query(toQuery(COUNT, await isDirect(client)))).rows).toEqual([{ count: 0 }]);
    expect(await prepared(client)).toEqual([]);
  });
});

describe('statements sent with the COMMIT', () => {
  const NOTE = { name: 'note', text: 'INSERT INTO noted (text) VALUES ($1)' };
  const note = (text: string | null): void => database.db.sendWithCommit({ sql: NOTE, parameters: [text] });

  it('statements sent with the COMMIT run in order after all other statements of the transaction', async () => {
    await database.db.transaction(async () => {
      note('second');
      note('third');
      await database.db.query(NOTE, ['first']);
    });
    expect(await noted()).toEqual(['first', 'second', 'third']);
  });

  it('a statement that fails with the COMMIT rolls back the transaction, and leaves the connection usable', async () => {
    const { db } = database;
    const failing = db.transaction(async () => {
      await db.query(NOTE, ['first']);
      note(null);
      note('third');
    });
    await expect(failing).rejects.toThrow('not-null');
    await db.transaction(async () => note('later'));
    expect(await noted()).toEqual(['later']);
  });
});

describe('a transaction', () => {
  let proxy: CountingProxy;
  let db: Database;

  beforeEach(async () => {
    proxy = await CountingProxy.start(database.url);
    db = await database.connectAgain({ url: proxy.url, poolSize: 1 });
    await db.query('SELECT 1'); // opens the connection
  });
  afterEach(() => proxy.stop());

  it('a transaction that reads first and writes with the COMMIT needs two round trips', async () => {
    const { roundTrips, commits } = await proxy.count(async () => {
      await db.transaction(async () => {
        await Promise.all([db.query('SELECT 1'), db.query('SELECT 2')]);
        db.sendWithCommit({ sql: 'INSERT INTO noted (text) VALUES ($1)', parameters: ['one'] });
      });
    });
    expect({ roundTrips, commits }).toEqual({ roundTrips: 2, commits: 1 });
    expect(await noted()).toEqual(['one']);
  });

  it('a transaction keeps the order of statements that are sent without waiting', async () => {
    const both = await db.transaction(
      async () =>
        await Promise.all([
          db.query('INSERT INTO noted (text) VALUES ($1)', ['one']),
          db.query<{ text: string }>('SELECT text FROM noted'),
        ]),
    );
    expect(both[1]).toEqual([{ text: 'one' }]);
  });

  it('R-1 a transaction that begins with a WITH … SELECT … FOR UPDATE shares the round trip of BEGIN', async () => {
    const lock = 'WITH held AS (SELECT id FROM noted FOR UPDATE) SELECT id FROM held';
    const { roundTrips } = await proxy.count(async () => await db.transaction(async () => await db.query(lock)));
    expect(roundTrips).toBe(2);
  });

  it('R-1 a transaction runs its effects after the commit or after the rollback, never both', async () => {
    const effects: string[] = [];
    const noting = (name: string) => async (): Promise<void> => {
      db.afterCommit(() => effects.push(`${name} committed`));
      db.afterRollback(() => effects.push(`${name} rolled back`));
      await db.query('INSERT INTO noted (text) VALUES ($1)', [name === 'broken' ? null : name]);
    };
    await db.transaction(async () => await db.transaction(noting('inner')));
    await expect(db.transaction(noting('broken'))).rejects.toThrow('not-null');
    const late = db.transaction(async () => {
      await noting('late')();
      db.sendWithCommit({ sql: 'INSERT INTO noted (text) VALUES ($1)', parameters: [null] });
    });
    await expect(late).rejects.toThrow('not-null');
    expect(effects).toEqual(['inner committed', 'broken rolled back', 'late rolled back']);
  });

  it('a transaction that writes first needs three round trips, because the write waits for BEGIN', async () => {
    const write = async (): Promise<unknown> => await db.query('INSERT INTO noted (text) VALUES ($1)', ['one']);
    const { roundTrips, commits } = await proxy.count(async () => await db.transaction(write));
    expect({ roundTrips, commits }).toEqual({ roundTrips: 3, commits: 1 });
  });
});
