import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Logger as Pino } from 'pino';
import { RUNTIME_SCHEMA } from '#rollcall/agent-runtime';
import {
  AdminKeys,
  type DatabaseOptions,
  DatabaseRefusedError,
  joinSchemas,
  migrate,
  PLATFORM_SCHEMA,
} from '#rollcall/platform';
import type { SecretSource } from '#rollcall/providers';
import { REGISTRY_SCHEMA } from '#rollcall/registry';
import type { App } from '../app.js';
import type { Config } from '../config/config.schema.js';
import { API_SCHEMA } from '../db/schema.js';
import type { ImportedPlugin } from '../plugins/plugin.loader.js';
import type { Plugins } from '../plugins/plugins.js';
import type { Tracing } from '../telemetry/tracing.js';
import { type AdminKey, ensureAdminKey } from './admin-key.js';
import { launchPostgres } from './postgres.js';
import { closeApp, shutDown } from './shutdown.js';

const NEEDS_URL =
  'Set DATABASE_URL to the Postgres that is to be migrated. The embedded Postgres is migrated when the server starts.';

export const SCHEMA = joinSchemas(PLATFORM_SCHEMA, REGISTRY_SCHEMA, RUNTIME_SCHEMA, API_SCHEMA);

export interface Running {
  url: string;
  embedded: boolean;
  adminKey: AdminKey;
  stop(): Promise<void>;
}

/** What the process passes to the start in addition to its configuration. */
export interface StartOptions {
  tracing?: Tracing;
  secrets?: SecretSource;
  /** Plugins that are already imported, in addition to those of the configuration. */
  plugins?: readonly ImportedPlugin[];
  /** The folder of relative paths of plugins. The default is the working directory. */
  folder?: string;
}

/** The application without a port, and everything that it needs. */
export interface Composed {
  readonly app: App;
  readonly embedded: boolean;
  readonly adminKey: AdminKey;
  /** Whether a port of its own is open. Its shutdown then waits until proxies have noticed it. */
  serving: boolean;
  stop(): Promise<void>;
}

/** Starts everything except the port. If a step fails, the earlier steps are undone in reverse order. */
export async function compose(config: Config, pino: Pino, options: StartOptions = {}): Promise<Composed> {
  const { tracing, secrets } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    if (tracing) closers.push(() => tracing.stop());
    const plugins = await pluginsOf(config, options);
    for (const { name, version, from } of plugins?.all ?? [])
      pino.info({ event: 'plugin.loaded', plugin: name, version, from }, `loaded the plugin ${name}`);
    const postgres = await launchPostgres(config, pino);
    closers.push(() => postgres.stop());
    const { createApp } = await import('../app.js'); // takes about as long as the start of the embedded Postgres
    await postgres.ready();
    const database = databaseOptions(config, postgres.url);
    await runMigrations(database, pino);
    const fastifyPlugins = tracing ? [tracing.fastifyPlugin] : [];
    const app = await createApp({ config, database, pino, fastifyPlugins, secrets, plugins });
    const composed: Composed = {
      app,
      embedded: postgres.embedded,
      adminKey: { shell: '' },
      serving: false,
      stop: close,
    };
    closers.push(async () => await (composed.serving ? shutDown : closeApp)(app, config.shutdown));
    const adminKey = await ensureAdminKey(app.nest.get(AdminKeys, { strict: false }), config, postgres.embedded);
    return Object.assign(composed, { adminKey });
  } catch (error) {
    await close();
    throw error;
  }
}

/** Starts a listening server from a configuration. */
export async function start(config: Config, pino: Pino, options: StartOptions = {}): Promise<Running> {
  await requireFreePort(config.http).catch(async (error: unknown) => {
    await options.tracing?.stop();
    throw error;
  });
  const composed = await compose(config, pino, options);
  const url = await listen(composed, config.http);
  const { embedded, adminKey } = composed;
  return { url, embedded, adminKey, stop: composed.stop };
}

async function pluginsOf(
  { plugins: uses, pluginLimits: limits }: Config,
  { plugins: imported = [], folder = process.cwd() }: StartOptions,
): Promise<Plugins | undefined> {
  if (uses.length + imported.length === 0) return undefined;
  const { loadPlugins } = await import('../plugins/plugin.loader.js');
  return await loadPlugins(uses, folder, limits, imported);
}

/** Migrates the database of DATABASE_URL and does not start the server. Returns how many migrations ran. */
export async function migrateDatabase(config: Config, pino: Pino): Promise<number> {
  if (!config.database.url) throw new DatabaseRefusedError(NEEDS_URL);
  const postgres = await launchPostgres(config, pino);
  await postgres.ready();
  return await runMigrations(databaseOptions(config, postgres.url), pino);
}

async function runMigrations(options: DatabaseOptions, pino: Pino): Promise<number> {
  const onWait = (): void => pino.info({ event: 'database.migrating' }, 'waiting for another replica to migrate');
  const names = await migrate(options, SCHEMA, { onWait });
  if (names.length > 0)
    pino.info({ event: 'database.migrated', last: names.at(-1) }, `applied ${names.length} migrations`);
  return names.length;
}

export function databaseOptions({ database, http }: Config, url: string): DatabaseOptions {
  const { directUrl, poolSize, reservedPoolSize, operationTimeout, transactionFactor } = database;
  return {
    url,
    directUrl: database.url ? directUrl : undefined,
    poolSize,
    reservedPoolSize,
    operationTimeoutMs: operationTimeout,
    transactionTimeoutMs: Math.min(operationTimeout * transactionFactor, http.handlerTimeout),
  };
}

/** The server cannot listen on the configured address. The message states what to do next. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Fails before the slow steps of the start if the server will not be able to listen. */
async function requireFreePort(address: Config['http']): Promise<void> {
  const probe = createServer();
  try {
    await once(probe.listen(address.port, address.host), 'listening');
  } catch (error) {
    throw explain(error, address);
  }
  probe.close();
  await once(probe, 'close');
}

/** Opens the port, and returns the URL. If that fails, everything is stopped. */
export async function listen(composed: Composed, address: Pick<Config['http'], 'host' | 'port'>): Promise<string> {
  try {
    await composed.app.nest.listen(address.port, address.host);
    composed.serving = true;
    return urlOf(composed.app);
  } catch (error) {
    await composed.stop();
    throw explain(error, address);
  }
}

function explain(error: unknown, { host, port }: Pick<Config['http'], 'host' | 'port'>): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const advice = LISTEN_ADVICE[code];
  return advice ? new ListenError(`Cannot listen on ${host}:${port} (${code}). ${advice}`, { cause: error }) : error;
}

const LISTEN_ADVICE: Record<string, string> = {
  EADDRINUSE: 'Another process uses this port. Stop it, or set PORT to another port (0 for any free one).',
  EACCES: 'This user may not listen on ports below 1024. Set PORT to another port.',
  EADDRNOTAVAIL:
    'This machine does not have that address. Set HOST to an address of this machine, 127.0.0.1 or 0.0.0.0.',
  ENOTFOUND: 'That host name is unknown. Set HOST to an address of this machine, 127.0.0.1 or 0.0.0.0.',
};

function urlOf({ nest }: App): string {
  const address = nest.getHttpServer().address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port');
  const wildcard = address.address === '0.0.0.0' || address.address === '::';
  const host = wildcard ? 'localhost' : address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}
