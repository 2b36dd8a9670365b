import { pino } from 'pino';
import { Database } from '#rollcall/platform';
import { SlowProxy, testDatabase, type TestDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { type App, createApp } from '../../apps/api/src/app.js';
import { loadConfig } from '../../apps/api/src/config/config.loader.js';
import { SHORT_DATABASE_TIMEOUT } from '../support/api.js';
import { type Answer, call } from '../support/call.js';

let database: TestDatabase;
let proxy: SlowProxy;
let db: Database;
let app: App;
let url: string;

beforeAll(async () => {
  database = await testDatabase();
  proxy = await SlowProxy.start(database.url, 0);
  const settings = { ...SHORT_DATABASE_TIMEOUT, ROLLCALL_RATE_LIMIT: '0' };
  const config = loadConfig(settings, '/nowhere', { database: { slowRoundTrip: 200 } });
  db = new Database({ url: proxy.url, poolSize: 5, operationTimeoutMs: config.database.operationTimeout });
  app = await createApp({ config, database: db, pino: pino({ level: 'silent' }) });
  await app.nest.listen(0, '127.0.0.1');
  url = await app.nest.getUrl();
});
afterAll(async () => {
  await app.nest.close();
  await db.close();
  proxy.stop();
  await database.drop();
});

const ready = async (): Promise<Answer> => await call(url, 'GET', '/health/ready', {});

describe('a slow connection to the database', () => {
  it('D6 a slow connection makes the replica unready and reports the round-trip time; a fast connection makes it ready again', async () => {
    expect(await ready()).toMatchObject({
      status: 200,
      body: { info: { database: { roundTripMs: expect.any(Number), limitMs: 200 } } },
    });
    proxy.roundTripMs = 400;
    await until('the replica is not ready', async () => (await ready()).status === 503);
    expect((await ready()).body).toMatchObject({
      code: 'NOT_READY',
      detail: expect.stringContaining('took longer than 200 ms'),
      limitMs: 200,
    });
    proxy.roundTripMs = 0;
    await until('the replica is ready', async () => (await ready()).status === 200);
  });
});
