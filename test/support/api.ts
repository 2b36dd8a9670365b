import { pino } from 'pino';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { type App, createApp } from '../../apps/api/src/app.js';
import type { Role } from '../../apps/api/src/auth/permissions.js';
import { environmentSecrets, loadConfig } from '../../apps/api/src/config/config.loader.js';
import { KeysService } from '#rollcall/platform';

export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: Headers;
  body: Body;
}

export interface CallOptions {
  key?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
}

/** The whole application on a database of its own, spoken to over real HTTP. */
export interface TestApi {
  url: string;
  app: App;
  database: TestDatabase;
  adminKey: string;
  keyFor(...roles: Role[]): Promise<string>;
  /** With the admin key, unless told otherwise; `key: null` sends none. */
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

/** On a new database, unless one is given; the database ends with it. */
export async function startApi(environment: Record<string, string> = {}, given?: TestDatabase): Promise<TestApi> {
  const database = given ?? (await testDatabase());
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
  const keyFor = async (...roles: Role[]): Promise<string> =>
    (await app.nest.get(KeysService, { strict: false }).issue(roles.join('+'), roles, null, 'test')).key;
  const adminKey = await keyFor('admin');
  return {
    url,
    app,
    database,
    adminKey,
    keyFor,
    call: async (method, path, { key = adminKey, ...rest } = {}) => await call(url, method, path, { key, ...rest }),
    replica: async (changes = {}, otherUrl) => await serve(database, { ...environment, ...changes }, otherUrl),
    stop: async () => await app.nest.close(),
  };
}

export async function call<Body = Record<string, unknown>>(
  url: string,
  method: string,
  path: string,
  { key, body, headers }: CallOptions,
): Promise<Answer<Body>> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : isRaw(body) ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json') ?? false;
  return { status: response.status, headers: response.headers, body: (json ? JSON.parse(text) : text) as Body };
}

function isRaw(body: unknown): body is string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' || body instanceof Uint8Array;
}
