import { pino } from 'pino';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { type App, createApp } from '../../apps/api/src/app.js';
import type { Role } from '../../apps/api/src/auth/permissions.js';
import { environmentSecrets, loadConfig } from '../../apps/api/src/config/config.loader.js';
import { KeysService } from '#rollcall/platform';
import { type Answer, call, type CallOptions } from './call.js';
import { Given } from './given.js';

/** The whole application on a database of its own, spoken to over real HTTP. */
export interface TestApi {
  url: string;
  app: App;
  database: TestDatabase;
  adminKey: string;
  given: Given;
  /** With the admin key by default; `key: null` sends none. */
  call<Body = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>;
  /** One more replica on the same database, with other settings or by another URL, such as one through a proxy. */
  replica(changes?: Record<string, string>, databaseUrl?: string): Promise<TestApi>;
  stop(): Promise<void>;
}

/** Tests send more at once than a caller may. */
const UNLIMITED = {
  ROLLCALL_RATE_LIMIT: '0',
  ROLLCALL_CONCURRENT_REQUESTS: '0',
  ROLLCALL_CONCURRENT_STREAMS: '0',
  ROLLCALL_CONCURRENT_UNAUTHENTICATED: '0',
};

/** On a new database by default; stopping the API drops the database. */
export async function startApi(environment: Record<string, string> = {}, existing?: TestDatabase): Promise<TestApi> {
  const database = existing ?? (await testDatabase());
  const api = await serve(database, environment);
  const stop = async (): Promise<void> => {
    await api.stop();
    await database.drop();
  };
  return { ...api, stop };
}

async function serve(
  database: TestDatabase,
  environment: Record<string, string>,
  databaseUrl: string = database.url,
): Promise<TestApi> {
  const config = loadConfig({ ...UNLIMITED, ...environment }, '/nowhere');
  const db = await database.connectAgain({ url: databaseUrl, operationTimeoutMs: 1_500 });
  const secrets = environmentSecrets(environment, '/nowhere');
  const app = await createApp({ config, database: db, pino: pino({ level: 'silent' }), secrets });
  await app.nest.listen(0, '127.0.0.1');
  const url = await app.nest.getUrl();
  const issueKey = async (...roles: Role[]): Promise<string> =>
    (await app.nest.get(KeysService, { strict: false }).issue(roles.join('+'), roles, null, 'test')).key;
  const adminKey = await issueKey('admin');
  const callAsAdmin: TestApi['call'] = async (method, path, { key = adminKey, ...rest } = {}) =>
    await call(url, method, path, { key, ...rest });
  return {
    url,
    app,
    database,
    adminKey,
    given: new Given(callAsAdmin, issueKey),
    call: callAsAdmin,
    replica: async (changes = {}, otherUrl) => await serve(database, { ...environment, ...changes }, otherUrl),
    stop: async () => await app.nest.close(),
  };
}
