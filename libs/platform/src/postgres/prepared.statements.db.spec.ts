import { Client, type PoolClient } from 'pg';
import { testDatabase, type TestDatabase } from '../testing/index.js';
import { type CommitStatement, PreparedStatements } from './prepared.statements.js';

let database: TestDatabase;
let client: PoolClient;
let statements: PreparedStatements;

beforeEach(async () => {
  database = await testDatabase();
  client = await connect();
  statements = new PreparedStatements();
  await client.query('CREATE TABLE noted (text text)');
});
afterEach(async () => {
  await (client as unknown as Client).end();
  await database.drop();
});

async function connect(): Promise<PoolClient> {
  const made = new Client({ connectionString: database.url });
  made.on('error', () => undefined); // some are cut off
  await made.connect();
  return made as unknown as PoolClient;
}

const note = (text: string): CommitStatement => ({
  plain: `INSERT INTO noted VALUES ('${text}')`,
  prepared: { name: 'note', definition: '(text) AS INSERT INTO noted VALUES ($1)', values: `'${text}'` },
});

async function commit(text: string, on = client): Promise<void> {
  await on.query('BEGIN');
  await statements.commit(on, [note(text)]);
}

const noted = async (): Promise<string[]> =>
  (await database.db.query<{ text: string }>('SELECT text FROM noted')).map(({ text }) => text);
const taught = async (on = client): Promise<string[]> =>
  (await on.query<{ name: string }>('SELECT name FROM pg_prepared_statements')).rows.map(({ name }) => name);

describe('statements that end a transaction', () => {
  it('are prepared on a connection after its first commit, and used from then on', async () => {
    await commit('one');
    expect(await taught()).toEqual(['note']);
    await commit('two');
    const { rows } = await client.query<{ plans: string }>(
      `SELECT generic_plans + custom_plans AS plans FROM pg_prepared_statements WHERE name = 'note'`,
    );
    expect(rows).toEqual([{ plans: '1' }]);
    expect(await noted()).toEqual(['one', 'two']);
  });

  it('are never prepared behind a pooler, which shows by another number than the backend has', async () => {
    Object.assign(client, { processID: 1 });
    for (const text of ['one', 'two']) await commit(text);
    expect(await taught()).toEqual([]);
    const other = await connect();
    await commit('three', other);
    expect(await taught(other)).toEqual([]);
    await (other as unknown as Client).end();
    expect(await noted()).toEqual(['one', 'two', 'three']);
  });

  it('go on plainly when the connection has forgotten, after one refusal that says to try again', async () => {
    await commit('one');
    await client.query('DEALLOCATE ALL');
    await expect(commit('two')).rejects.toMatchObject({ code: 'DATABASE_BUSY' });
    await client.query('ROLLBACK');
    await commit('three');
    expect(await noted()).toEqual(['one', 'three']);
  });

  it('are prepared on other connections when one was cut off', async () => {
    const cut = await connect();
    await commit('one', cut);
    await database.db.query('SELECT pg_terminate_backend($1)', [(cut as unknown as { processID: number }).processID]);
    await expect(commit('lost', cut)).rejects.toThrow(/terminat|not queryable|EPIPE|ECONNRESET/);
    await commit('two');
    expect(await taught()).toEqual(['note']);
    expect(await noted()).toEqual(['one', 'two']);
  });
});

describe('statements that are prepared by name', () => {
  const COUNT = { name: 'count_noted', text: 'SELECT count(*)::int AS count FROM noted' };

  it('keep their plan on a connection of Postgres itself', async () => {
    await client.query(await statements.query(COUNT, client));
    expect(await taught()).toEqual(['count_noted']);
  });

  it('are given by their text alone behind a pooler', async () => {
    Object.assign(client, { processID: 1 });
    expect((await client.query(await statements.query(COUNT, client))).rows).toEqual([{ count: 0 }]);
    expect(await taught()).toEqual([]);
  });
});
