import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { until } from '#rollcall/test-support';
import { Database } from './database.js';
import { EmbeddedPostgres } from './embedded/embedded-postgres.js';
import { migrate } from './migrator.js';
import { waitForPostgres } from './reachability.js';
import { serversIn } from './servers.js';

describe('the servers in a URL', () => {
  it.each([
    ['postgresql://u:p@one/db', ['postgresql://u:p@one/db']],
    [
      'postgresql://u:p@one:1,other:2/db?sslmode=require',
      ['postgresql://u:p@one:1/db?sslmode=require', 'postgresql://u:p@other:2/db?sslmode=require'],
    ],
    ['postgres://one,[::1]:5433', ['postgres://one', 'postgres://[::1]:5433']],
    [
      'postgresql://u@localhost/db?host=%2Fone%2C%2Fother',
      ['postgresql://u@localhost/db?host=%2Fone', 'postgresql://u@localhost/db?host=%2Fother'],
    ],
    ['postgresql://u@localhost/a,b', ['postgresql://u@localhost/a,b']],
  ])('B15 of %s', (url, servers) => expect(serversIn(url)).toEqual(servers));
});

describe('a cluster of two servers', () => {
  let folder: string;
  let servers: Record<'one' | 'other', EmbeddedPostgres>;
  let url: string;
  let db: Database;

  beforeAll(async () => {
    folder = mkdtempSync(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'rollcall-servers-'));
    const start = async (name: string): Promise<EmbeddedPostgres> =>
      await EmbeddedPostgres.start({ folder: join(folder, name), settings: ['fsync=off', `cluster_name=${name}`] });
    servers = { one: await start('one'), other: await start('other') };
    const hosts = [servers.one, servers.other].map((server) => new URL(server.url()).searchParams.get('host'));
    const both = new URL(servers.one.url('postgres'));
    both.searchParams.set('host', hosts.join());
    url = both.href;
  });
  beforeEach(async () => {
    await setReadOnly('one', true);
    await setReadOnly('other', false);
    db = new Database({ url, poolSize: 3, operationTimeoutMs: 10_000 });
  });
  afterEach(async () => await db.close());
  afterAll(async () => {
    await Promise.all(Object.values(servers).map(async (server) => await server.stop()));
    rmSync(folder, { recursive: true, force: true });
  });

  async function onServer(name: 'one' | 'other', ...statements: string[]): Promise<void> {
    const client = new Client({ connectionString: servers[name].url('postgres') });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  /** Like a primary that has become a standby. Open connections remain. */
  const setReadOnly = async (name: 'one' | 'other', isReadOnly: boolean): Promise<void> =>
    await onServer(name, `ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly}`, 'SELECT pg_reload_conf()');

  const serverOf = async (on: Database): Promise<string | undefined> =>
    (await on.query<{ name: string }>(`SELECT current_setting('cluster_name') AS name`))[0]?.name;

  it('B15 connections use the server that accepts writes, also for notifications, and the start waits for it', async () => {
    await waitForPostgres(url, 0, () => undefined);
    expect(await serverOf(db)).toBe('other');
    expect(await Promise.all([1, 2, 3].map(async () => await serverOf(db)))).toEqual(['other', 'other', 'other']);
    const client = db.dedicatedClient('test');
    client.on('error', () => undefined); // the first server refuses
    await client.connect();
    expect((await client.query(`SELECT current_setting('cluster_name') AS name`)).rows).toEqual([{ name: 'other' }]);
    await client.end();
    await setReadOnly('other', true);
    await expect(waitForPostgres(url, 0, () => undefined)).rejects.toThrow('read-only');
  });

  it('B15 when the primary changes, open connections to the old one are closed and no write reaches it', async () => {
    expect(await serverOf(db)).toBe('other');
    await setReadOnly('one', false);
    await setReadOnly('other', true);
    await until('the new primary is used', async () => {
      const name = await db.transaction(async () => await serverOf(db)).catch(() => undefined);
      return name === 'one';
    });
    const names = await Promise.all(Array.from({ length: 9 }, async () => await serverOf(db)));
    expect(new Set(names)).toEqual(new Set(['one']));
  });

  it('B15 a write on a server that is read-only fails as unavailable, and its connection is not used again', async () => {
    const single = new Database({ url: servers.other.url('postgres'), poolSize: 1, operationTimeoutMs: 5_000 });
    const write = async (): Promise<unknown> =>
      await single.transaction(async () => {
        await single.query('SET LOCAL transaction_read_only = on');
        await single.query('CREATE TABLE never (id int)');
      });
    const [before] = await single.query('SELECT pg_backend_pid() AS pid');
    await expect(write()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    expect(await single.query('SELECT pg_backend_pid() AS pid')).not.toEqual([before]);
    await single.close();
  });

  it('B15 a commit that the synchronous standby does not confirm fails, although Postgres reports it as successful', async () => {
    const single = new Database({ url: servers.other.url('postgres'), poolSize: 1, operationTimeoutMs: 1_500 });
    await onServer('other', `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`, 'SELECT pg_reload_conf()');
    const names = async (): Promise<unknown> => await single.query('SHOW synchronous_standby_names');
    await until('the setting applies', async () => JSON.stringify(await names()).includes('nobody'));
    const write = async (table: string): Promise<unknown> =>
      await single.transaction(async () => await single.query(`CREATE TABLE ${table} (id int)`));
    await expect(write('unconfirmed')).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' });
    await expect(single.query('CREATE TABLE unconfirmed_too (id int)')).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
    });
    await onServer('other', 'ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()');
    await until('the setting applies', async () => !JSON.stringify(await names()).includes('nobody'));
    await write('confirmed');
    await single.close();
  });

  it('B15 migrations run on the server that accepts writes', async () => {
    const schema = { migrations: [] };
    expect(await migrate({ url, poolSize: 2, operationTimeoutMs: 5_000 }, schema)).toEqual([]);
    await expect(onServer('other', 'SELECT * FROM schema_migration')).resolves.toBeUndefined();
    await expect(onServer('one', 'SELECT * FROM schema_migration')).rejects.toThrow('does not exist');
  });
});
