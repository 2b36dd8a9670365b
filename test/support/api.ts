import { pino } from 'pino';
import { RunWorkers } from '#rollcall/agent-runtime/testing';
import { type TestDatabase, testDatabase } from '#rollcall/platform/testing';
import { type App, createApp } from '../../apps/api/src/app.js';
import type { Role } from '../../apps/api/src/auth/permissions.js';
import type { ConstantChanges } from '../../apps/api/src/config/config.constants.js';
import { type PluginUse, readPlugin } from '../../apps/api/src/plugins/plugin.reader.js';
import { Plugins } from '../../apps/api/src/plugins/plugins.js';
import { environmentSecrets, loadConfig } from '../../apps/api/src/config/config.loader.js';
import { ALL_NAMESPACES, DEFAULT_NAMESPACE, KeysService } from '#rollcall/platform';
import { type Answer, call, type CallOptions } from './call.js';
import { Given } from './given.js';

/** One replica of the whole application, called over real HTTP. */
export interface TestApi {
  url: string;
  app: App;
  database: TestDatabase;
  adminKey: string;
  given: Given;
  /** Issues a key for one namespace, or for all with `*`, and returns its secret. */
  issueKeyIn(namespace: string, ...roles: Role[]): Promise<string>;
  /** Sends a request with the admin key by default; `key: null` sends no key. */
  call<Body = Record<string, unknown>>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>;
  /** Starts another replica on the same database. It can have other settings and options. */
  replica(changes?: Record<string, string>, options?: ReplicaOptions): Promise<TestApi>;
  stop(): Promise<void>;
}

export interface ReplicaOptions {
  /** Constants of the application that the suite needs smaller or larger. */
  constants?: ConstantChanges;
  /** Plugins, each as in the setting `plugins`, with its default export. */
  plugins?: readonly (PluginUse & { plugin: unknown })[];
  /** Another URL of the database, such as one through a proxy. */
  databaseUrl?: string;
  /** The URL for connections with a session of their own. */
  directUrl?: string;
}

/** The settings that differ from the defaults of Rollcall. A suite can override each of them. */
const TEST_SETTINGS = {
  // tests send more concurrent requests than a caller may
  ROLLCALL_RATE_LIMIT: '0',
  ROLLCALL_PUBLIC_RATE_LIMIT: '0',
  ROLLCALL_CONCURRENT_REQUESTS: '0',
  ROLLCALL_CONCURRENT_STREAMS: '0',
  // a busy machine must not make a statement fail
  ROLLCALL_DATABASE_TIMEOUT: '5s',
};

const TEST_CONSTANTS = { http: { concurrentUnauthenticated: 0 } };

/** For suites in which the database is unavailable, slow or frozen. */
export const SHORT_DATABASE_TIMEOUT = { ROLLCALL_DATABASE_TIMEOUT: '1500ms' };

/** Starts a replica on a new database by default. `stop` drops the database. */
export async function startApi(
  environment: Record<string, string> = {},
  { database: existing, ...options }: ReplicaOptions & { database?: TestDatabase } = {},
): Promise<TestApi> {
  const database = existing ?? (await testDatabase());
  const api = await serve(database, environment, options);
  const stop = async (): Promise<void> => {
    await api.stop();
    await database.drop();
  };
  return { ...api, stop };
}

async function serve(
  database: TestDatabase,
  environment: Record<string, string>,
  { constants = {}, databaseUrl = database.url, directUrl, plugins: uses = [] }: ReplicaOptions,
): Promise<TestApi> {
  const config = loadConfig({ ...TEST_SETTINGS, ...environment }, '/nowhere', {
    ...constants,
    http: { ...TEST_CONSTANTS.http, ...constants.http },
  });
  const loaded = await Promise.all(
    uses.map(async ({ plugin, ...use }) => await readPlugin(plugin, use, config.pluginLimits)),
  );
  const plugins = Plugins.of(loaded, config.pluginLimits);
  const db = await database.connectAgain({
    url: databaseUrl,
    directUrl,
    operationTimeoutMs: config.database.operationTimeout,
  });
  const secrets = environmentSecrets(environment, '/nowhere');
  const app = await createApp({ plugins, config, database: db, pino: pino({ level: 'silent' }), secrets });
  await app.nest.listen(0, '127.0.0.1');
  const url = await app.nest.getUrl();
  const keys = app.nest.get(KeysService, { strict: false });
  const issueKeyIn: TestApi['issueKeyIn'] = async (namespace, ...roles) =>
    (await keys.issue({ name: roles.join('+'), namespace, roles, expiresAt: null }, 'test')).key;
  const issueKey = async (...roles: Role[]): Promise<string> =>
    await issueKeyIn(roles.includes('admin') ? ALL_NAMESPACES : DEFAULT_NAMESPACE, ...roles);
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
    issueKeyIn,
    replica: async (changes = {}, other = {}) => {
      const options = { ...other, constants: { ...constants, ...other.constants } };
      const added = await serve(database, { ...environment, ...changes }, options);
      await added.app.nest.get(RunWorkers, { strict: false }).pass(); // before it has claimed, it queues the runs that it receives
      return added;
    },
    stop: async () => await app.nest.close(),
  };
}
