import { setPriority } from 'node:os';
import { pino } from 'pino';
import { ALL_NAMESPACES, Database, KeysService, migrate } from '#rollcall/platform';
import { FreezablePostgres } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { type App, createApp } from '../../apps/api/src/app.js';
import { databaseOptions, SCHEMA } from '../../apps/api/src/boot/start.js';
import { loadConfig } from '../../apps/api/src/config/config.loader.js';
import { SHORT_DATABASE_TIMEOUT } from '../support/api.js';
import { type Answer, call } from '../support/call.js';
import { EventClient } from '../support/event-client.js';
import { joined, appendEvents, upTo } from '../support/events.js';

const config = loadConfig({ ...SHORT_DATABASE_TIMEOUT, ROLLCALL_RATE_LIMIT: '0' }, '/nowhere');

let postgres: FreezablePostgres;
let database: Database;
let app: App;
let url: string;
let key: string;
let client: EventClient;
const restarts: string[] = [];

beforeAll(async () => {
  postgres = await FreezablePostgres.start((reason) => restarts.push(reason));
  const options = databaseOptions(config, postgres.url);
  await migrate(options, SCHEMA);
  database = new Database(options);
  app = await createApp({ config, database, pino: pino({ level: 'silent' }) });
  await app.nest.listen(0, '127.0.0.1');
  url = await app.nest.getUrl();
  const wanted = { name: 'admin', namespace: ALL_NAMESPACES, roles: ['admin'], expiresAt: null };
  key = (await app.nest.get(KeysService, { strict: false }).issue(wanted, 'test')).key;
  client = await (await EventClient.connect(url, { key })).subscribe({ after: 'oldest' });
  setPriorityOfSuite('high');
});

afterAll(async () => {
  setPriorityOfSuite('normal');
  await app.nest.close();
  await database.close();
  await postgres.stop();
});

/** With `high`, suites that run at the same time do not delay this suite. Only root may change the priority. */
function setPriorityOfSuite(level: 'high' | 'normal'): void {
  if (process.getuid?.() === 0) setPriority(level === 'high' ? -10 : 0);
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  return await call(url, method, path, { key, body });
}

const serves = async (): Promise<boolean> => (await ask('GET', '/v1/keys')).status === 200;

/** The events that the consumer received over earlier connections, which were closed with 1013. */
const earlier: number[] = [];
const received = (): number[] => [...earlier, ...client.seqs];

/** Expects that the consumer receives a new event exactly once. The consumer connects again if the outage closed its socket. */
async function expectEventsContinue(): Promise<void> {
  const before = received().length;
  await appendEvents({ app }, joined(`after-outage-${before}`));
  await until('the event is received', async () => {
    if (client.end) await reconnect();
    return received().length > before;
  });
  expect(received()).toEqual(upTo(before + 1));
}

async function reconnect(): Promise<void> {
  expect(client.end?.code).toBe(1013);
  earlier.push(...client.seqs);
  const after = String(earlier.at(-1) ?? 0);
  client = await (await EventClient.connect(url, { key })).subscribe({ after });
}

function expectUnavailable(answer: Answer): void {
  expect(answer).toMatchObject({ status: 503, body: { code: 'DATABASE_UNAVAILABLE' } });
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
}

describe('when Postgres freezes', () => {
  it('B3 requests fail with 503, liveness stays 200, and requests and streams recover without a restart', async () => {
    expect(await serves()).toBe(true);
    postgres.freeze();
    try {
      // First, because the key is still cached: so the request reaches the snapshot, which opens its own connection to Postgres.
      expectUnavailable(await ask('GET', '/v1/events/snapshot'));
      const reads = await Promise.all(Array.from({ length: 60 }, async () => await ask('GET', '/v1/keys')));
      for (const answer of reads) expectUnavailable(answer);
      expectUnavailable(await ask('POST', '/v1/keys', { name: 'x', roles: ['viewer'] }));
      expect((await ask('GET', '/health/live')).status).toBe(200);
      const ready = await ask('GET', '/health/ready');
      expect(ready).toMatchObject({ status: 503, body: { code: 'NOT_READY' } });
    } finally {
      postgres.thaw();
    }
    await until('the replica serves requests', serves);
    expect((await ask('GET', '/health/ready')).status).toBe(200);
    await expectEventsContinue();
  });
});

describe('when Postgres dies', () => {
  it('requests fail with 503, the embedded server is restarted, and requests and streams recover', async () => {
    postgres.crash();
    expectUnavailable(await ask('GET', '/v1/keys'));
    expect((await ask('GET', '/health/live')).status).toBe(200);
    await until('the replica serves requests', serves);
    expect(restarts.length).toBeGreaterThan(0);
    await expectEventsContinue();
  });
});
