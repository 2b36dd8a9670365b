import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { EmbeddedPostgres } from '#rollcall/platform';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { call } from '../support/call.js';
import { EventClient } from '../support/event-client.js';
import { HAS_PGBOUNCER, PgBouncer } from '../support/pgbouncer.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const ADMIN_KEY = 'k'.repeat(43);
const COMMAND = [process.execPath, 'bin/rollcall.js'];
const ECHO = { description: 'Echoes.', instructions: 'Echo.' };

type Call = (method: string, path: string, body?: object) => Promise<{ status: number; body: Record<string, unknown> }>;

/** Registers an agent, beats, charges a budget and completes a run. */
async function useEverything(send: Call, name: string): Promise<void> {
  const expectStatus = async (expected: number, ...[method, path, body]: Parameters<Call>) => {
    const { status, body: answer } = await send(method, path, body);
    expect({ status, answer }).toMatchObject({ status: expected });
    return answer;
  };
  const { generation } = await expectStatus(201, 'POST', '/v1/agents', { agentId: name, name, capabilities: [name] });
  await expectStatus(200, 'POST', `/v1/agents/${name}/heartbeat`, { generation });
  const { candidates } = await expectStatus(200, 'POST', '/v1/agents/query', {
    capabilities: [name],
    consistency: 'strong',
  });
  expect(candidates).toHaveLength(1);
  await expectStatus(201, 'POST', '/v1/budgets', {
    kind: 'agent',
    subject: name,
    limit: { tokens: 100 },
    window: 'daily',
  });
  await expectStatus(201, 'POST', '/v1/budgets/reservations', { key: name, agentId: name, tokens: 10 });
  await expectStatus(200, 'POST', `/v1/budgets/reservations/${name}/settle`, { tokens: 7 });
  await expectStatus(201, 'POST', '/v1/definitions', { name: `${name}-echo`, content: ECHO });
  const { id } = await expectStatus(202, 'POST', '/v1/runs', { definition: `${name}-echo`, input: 'Hello.' });
  expect(await expectStatus(200, 'GET', `/v1/runs/${String(id)}?waitMs=40000`)).toMatchObject({ state: 'completed' });
  await expectStatus(201, 'POST', '/v1/keys', { name, roles: ['viewer'] });
  await expectStatus(204, 'DELETE', `/v1/agents/${name}`);
}

describe.each(['transaction', 'session'] as const)('two replicas behind PgBouncer in %s mode', (mode) => {
  const itIfInstalled = HAS_PGBOUNCER ? it : it.skip;
  let origin: TestApi;
  let pooler: PgBouncer;
  let replicas: [TestApi, TestApi];

  beforeAll(async () => {
    if (!HAS_PGBOUNCER) return;
    origin = await startApi();
    const { url } = origin.database;
    pooler = await PgBouncer.start(url, mode);
    const pooled = { databaseUrl: pooler.urlOf(url), directUrl: url };
    replicas = [await origin.replica({}, pooled), await origin.replica({}, pooled)];
    await origin.app.nest.close(); // only the replicas behind PgBouncer work
  });
  afterAll(async () => {
    if (!HAS_PGBOUNCER) return;
    for (const replica of replicas) await replica.stop();
    await pooler.stop();
    await origin.database.drop();
  });

  itIfInstalled('B15 agents, budgets and runs work, and events reach the other replica by notification', async () => {
    const [one, other] = replicas;
    const events = await (
      await EventClient.connect(other.url, { key: other.adminKey })
    ).subscribe({ types: ['agent.*'] });
    await useEverything(async (method, path, body) => await one.call(method, path, { body }), `pooled-${mode}`);
    await until('the other replica delivers the events', () => events.events.length >= 2);
    expect(new Set(events.events.map(({ type }) => type))).toEqual(
      new Set(['dev.rollcall.agent.joined', 'dev.rollcall.agent.left']),
    );
    events.socket.close();
    const { rows } = await direct(
      origin.database.url,
      `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'rollcall-listener'`,
    );
    expect(rows).toEqual([{ count: 2 }]);
  });

  itIfInstalled('B15 concurrent reservations on both replicas never exceed a limit', async () => {
    await replicas[0].given.agent({ agentId: 'shared' });
    await replicas[0].given.budget({ kind: 'agent', subject: 'shared', window: 'daily', limit: { tokens: 1_000 } });
    const reserve = async (number: number): Promise<number> =>
      (
        await (replicas[number % 2] ?? origin).call('POST', '/v1/budgets/reservations', {
          body: { key: `r-${number}`, agentId: 'shared', tokens: 25 },
        })
      ).status;
    const statuses = await Promise.all(Array.from({ length: 60 }, (_, number) => reserve(number)));
    expect(Map.groupBy(statuses, (status) => status).get(201)).toHaveLength(40);
    expect(Map.groupBy(statuses, (status) => status).get(402)).toHaveLength(20);
  });
});

async function direct(url: string, sql: string): Promise<{ rows: Record<string, unknown>[] }> {
  const client = new Client(url);
  await client.connect();
  try {
    return await client.query<Record<string, unknown>>(sql);
  } finally {
    await client.end();
  }
}

const sendTo =
  (url: string): Call =>
  async (method, path, body) =>
    await call(url, method, path, { key: ADMIN_KEY, body });

describe('a role of Postgres that may not change the schema', () => {
  it('B15 rollcall migrate uses the role of the owner, and the replicas work with a role that can only read and write', async () => {
    const url = await emptyDatabase();
    const database = new URL(url).pathname.slice(1);
    const [owner, app] = [`${database}_owner`, `${database}_app`];
    const urlFor = (role: string): string => Object.assign(new URL(url), { username: role }).href;
    // docs/deployment.md has these statements
    await direct(
      url,
      `CREATE ROLE ${owner} LOGIN; CREATE ROLE ${app} LOGIN;
       GRANT CREATE, USAGE ON SCHEMA public TO ${owner};
       ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${app};
       ALTER DEFAULT PRIVILEGES FOR ROLE ${owner} IN SCHEMA public GRANT USAGE ON SEQUENCES TO ${app};`,
    );
    try {
      const refused = new RollcallProcess({ DATABASE_URL: urlFor(app), ROLLCALL_ADMIN_KEY: ADMIN_KEY });
      expect(await refused.exit()).toBe(1);
      expect(refused.output).toContain('cannot be migrated');
      const migrate = async (): Promise<string> => {
        const run = new RollcallProcess({ DATABASE_URL: urlFor(owner) }, { command: [...COMMAND, 'migrate'] });
        expect({ code: await run.exit(), output: run.output }).toMatchObject({ code: 0 });
        return run.output;
      };
      expect(await migrate()).toMatch(/Applied \d+ migrations\./);
      expect(await migrate()).toContain('The database is up to date.');
      const server = await new RollcallProcess({ DATABASE_URL: urlFor(app), ROLLCALL_ADMIN_KEY: ADMIN_KEY }).ready();
      await useEverything(sendTo(server.url), 'modest');
      expect(await server.end()).toBe(0);
      await expect(direct(urlFor(app), 'CREATE TABLE mine (id int)')).rejects.toThrow('permission denied');
    } finally {
      await dropDatabase(url);
    }
  });

  it('B15 rollcall migrate without DATABASE_URL says what it needs', async () => {
    const run = new RollcallProcess({}, { command: [...COMMAND, 'migrate'] });
    expect(await run.exit()).toBe(1);
    expect(run.output).toContain('Set DATABASE_URL');
  });
});

// macOS has only the address 127.0.0.1, on which another Postgres may listen
(process.platform === 'linux' ? describe : describe.skip)('TLS to Postgres', () => {
  const [address, otherAddress] = [1, 2].map((last) => `127.${randomInt(1, 255)}.${randomInt(256)}.${last}`);
  let folder: string;
  let postgres: EmbeddedPostgres;

  beforeAll(async () => {
    folder = newFolder();
    for (const name of ['ca', 'other']) createAuthority(folder, name);
    createCertificate(folder, `IP:${address}`);
    writeFileSync(join(folder, 'access.conf'), 'local all all trust\nhostssl all all 127.0.0.0/8 trust\n');
    const settings = [
      `listen_addresses=${address},${otherAddress}`,
      'ssl=on',
      `ssl_cert_file=${join(folder, 'server.pem')}`,
      `ssl_key_file=${join(folder, 'server.key')}`,
      `hba_file=${join(folder, 'access.conf')}`,
    ];
    postgres = await EmbeddedPostgres.start({ folder: join(folder, 'data'), settings });
  });
  afterAll(async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const urlOf = (host: string | undefined, query: string): string =>
    `postgresql://${new URL(postgres.url()).username}@${host}/postgres?${query}`;
  const verified = (authority: string): string => `sslmode=verify-full&sslrootcert=${join(folder, authority)}`;

  it('B15 with sslmode=verify-full and an authority of its own, everything works', async () => {
    const url = urlOf(address, verified('ca.pem'));
    const server = await new RollcallProcess({ DATABASE_URL: url, ROLLCALL_ADMIN_KEY: ADMIN_KEY }).ready();
    await useEverything(sendTo(server.url), 'encrypted');
    const { rows } = await direct(
      postgres.url('postgres'),
      `SELECT bool_and(ssl) AS encrypted, count(*) > 2 AS several FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
       WHERE application_name LIKE 'rollcall%'`,
    );
    expect(rows).toEqual([{ encrypted: true, several: true }]);
    expect(await server.end()).toBe(0);
  });

  it.each([
    ['another authority', () => urlOf(address, verified('other.pem'))],
    ['another address', () => urlOf(otherAddress, verified('ca.pem'))],
    ['no TLS', () => urlOf(address, '')],
  ])('B15 with %s, the process ends at once and names DATABASE_URL', async (_, url) => {
    const server = new RollcallProcess({ DATABASE_URL: url(), ROLLCALL_ADMIN_KEY: ADMIN_KEY });
    expect(await server.exit()).toBe(1);
    expect(server.output).toContain('Check DATABASE_URL.');
    expect(server.output).not.toContain('database.waiting');
  });
});

function openssl(folder: string, ...flags: string[]): void {
  execFileSync('openssl', flags, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
}

function createAuthority(folder: string, name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`];
  openssl(folder, 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject);
}

function createCertificate(folder: string, name: string): void {
  const subject = ['-subj', '/CN=postgres', '-keyout', 'server.key', '-out', 'server.csr'];
  openssl(folder, 'req', '-newkey', 'rsa:2048', '-nodes', ...subject);
  writeFileSync(join(folder, 'names'), `subjectAltName=${name}`);
  const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'names', '-days', '2'];
  openssl(folder, 'x509', '-req', '-in', 'server.csr', '-out', 'server.pem', ...signed);
}
