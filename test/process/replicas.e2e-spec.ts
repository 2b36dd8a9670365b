import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { Given } from '../support/given.js';
import { newFolder, type ProcessOptions, RollcallProcess } from '../support/process.js';

let folder: string;
let url: string;
const running: RollcallProcess[] = [];

beforeEach(async () => {
  folder = newFolder();
  url = await emptyDatabase();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(async (one) => await one.end()));
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(environment: Record<string, string> = {}, options?: ProcessOptions): RollcallProcess {
  const started = new RollcallProcess({ DATABASE_URL: url, ROLLCALL_DATA_DIR: folder, ...environment }, options);
  running.push(started);
  return started;
}

async function query<Row extends object>(sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Row>(sql);
  await client.end();
  return rows;
}

const statusWith = async (at: RollcallProcess, key: string): Promise<number> =>
  (await call(at.url, 'GET', '/v1/me', { key })).status;

describe('replicas on one DATABASE_URL', () => {
  it('three replicas that start at the same time on an empty database become ready, migrate it once and create one key', async () => {
    const replicas = await Promise.all([start(), start(), start()].map(async (one) => await one.ready()));
    const history = await query<{ name: string }>('SELECT name FROM schema_migration');
    expect(new Set(history.map(({ name }) => name)).size).toBe(history.length);
    expect(await query('SELECT 1 FROM api_key')).toHaveLength(1);
    const key = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
    for (const replica of replicas) expect(await statusWith(replica, key)).toBe(200);
  });

  it('a replica warns at its start if it has no key to encrypt the secrets of webhooks', async () => {
    const without = await start().ready();
    expect(without.output).toContain('Webhooks cannot be created without ROLLCALL_SEALING_KEY');
    const withKey = await start({ ROLLCALL_SEALING_KEY: 's'.repeat(64) }).ready();
    expect(withKey.output).not.toContain('ROLLCALL_SEALING_KEY');
  });

  it('A21 a replica creates no first admin key when it cannot write the key to a file', async () => {
    writeFileSync(join(folder, 'file'), '');
    const one = start({ ROLLCALL_DATA_DIR: join(folder, 'file', 'data') });
    expect(await one.exit()).toBe(1);
    expect(one.output).toContain('Set ROLLCALL_ADMIN_KEY');
    expect(one.output).not.toContain('rk_');
    expect(await query('SELECT 1 FROM api_key')).toHaveLength(0);
  });

  it('a new value of ROLLCALL_ADMIN_KEY replaces the previous key, and an earlier value can be set again', async () => {
    const [first, second] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
    const one = await start({ ROLLCALL_ADMIN_KEY: first }).ready();
    expect(await statusWith(one, first)).toBe(200);
    const id = (await call<{ id: string }>(one.url, 'GET', '/v1/me', { key: first })).body.id.slice(4);
    expect(await call(one.url, 'DELETE', `/v1/keys/${id}`, { key: first })).toMatchObject({
      status: 409,
      body: { code: 'KEY_FROM_ENVIRONMENT' },
    });
    const two = await start({ ROLLCALL_ADMIN_KEY: second }).ready();
    expect([await statusWith(two, first), await statusWith(two, second)]).toEqual([401, 200]);
    const three = await start({ ROLLCALL_ADMIN_KEY: first }).ready();
    expect([await statusWith(three, first), await statusWith(three, second)]).toEqual([200, 401]);
    expect([one, two, three].map(({ output }) => output).join()).not.toContain(first);
    const other = await Given.at(three.url, first).key('admin');
    const four = await start().ready();
    expect([await statusWith(four, first), await statusWith(four, other)]).toEqual([401, 200]);
    const audit = await call<{ items: { action: string }[] }>(four.url, 'GET', '/v1/audit?actorId=system:start', {
      key: other,
    });
    expect(audit.body.items.map(({ action }) => action)).toEqual([
      'key.revoked',
      'key.revoked',
      'key.adopted',
      'key.revoked',
      'key.adopted',
      'key.adopted',
    ]);
    const withViewerKey = start({
      ROLLCALL_ADMIN_KEY: await Given.at(four.url, other).key('viewer'),
    });
    expect(await withViewerKey.exit()).toBe(1);
    expect(withViewerKey.output).toContain('which is not a permanent admin key');
  });

  it('a replica that stops finishes the requests in progress', async () => {
    const one = await start({ ROLLCALL_ADMIN_KEY: 'k'.repeat(40) }).ready();
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
    const answer = call(one.url, 'GET', '/v1/keys', { key: 'k'.repeat(40) });
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    while ((await client.query(waiting)).rowCount === 0);
    const exit = one.end();
    await client.query('COMMIT');
    await client.end();
    expect((await answer).status).toBe(200);
    expect(await exit).toBe(0);
  });
});

describe('an unusable DATABASE_URL', () => {
  const unreachable = 'postgresql://someone:hunter2@127.0.0.1:1/rollcall';

  it.each([
    ['invalid', 'localhost:5432', 'database.url (DATABASE_URL): expected a URL such as'],
    ['unreachable', unreachable, 'Cannot use Postgres at postgresql://someone@127.0.0.1:1/rollcall'],
  ])('reports an %s DATABASE_URL in one sentence', async (_what, wrong, message) => {
    const failed = start({ DATABASE_URL: wrong }, { constants: { database: { connectWait: 0 } } });
    expect(await failed.exit()).toBe(1);
    expect(failed.output).toContain(message);
    expect(failed.output).not.toContain('hunter2');
    expect(failed.output).not.toMatch(/\n\s+at /);
  });

  it('warns about variables that are no settings before it connects, and suggests the setting that was meant', async () => {
    const unknown = { ROLLCALL_DATABSE_TIMEOUT: '1s', ROLLCALL_HANDLER_TIMEOUT: '1s' };
    const failed = start({ DATABASE_URL: unreachable, ...unknown }, { constants: { database: { connectWait: 0 } } });
    expect(await failed.exit()).toBe(1);
    expect(failed.output).toContain('did you mean ROLLCALL_DATABASE_TIMEOUT?');
    expect(failed.output).toContain('ROLLCALL_HANDLER_TIMEOUT is no longer a setting');
  });

  it('retries an unreachable database, and stops on a signal while it retries', async () => {
    const waiting = start({ DATABASE_URL: `${unreachable}?password=hunter3` });
    await until('the process waits for the database', () => waiting.output.includes('database.waiting'));
    expect(await waiting.end()).toBe(0);
    expect(waiting.output.match(/database\.waiting/g)).toHaveLength(1);
    expect(waiting.output).not.toMatch(/hunter|Check DATABASE_URL/);
  });

  it('reports an unknown database in one sentence', async () => {
    const wrong = new URL(url);
    wrong.pathname = '/nowhere';
    const failed = start({ DATABASE_URL: wrong.toString() });
    expect(await failed.exit()).toBe(1);
    expect(failed.output).toContain('the database does not exist. Check DATABASE_URL.');
  });
});
