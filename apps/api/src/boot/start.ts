import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Logger as Pino } from 'pino';
import { RUNTIME_SCHEMA } from '#rollcall/agent-runtime';
import { AdminKeys, type DatabaseOptions, joinSchemas, migrate, PLATFORM_SCHEMA } from '#rollcall/platform';
import type { SecretSource } from '#rollcall/providers';
import { REGISTRY_SCHEMA } from '#rollcall/registry';
import type { App } from '../app.js';
import type { Config } from '../config/config.schema.js';
import { API_SCHEMA } from '../db/schema.js';
import type { Plugins } from '../plugins/plugins.js';
import type { Tracing } from '../telemetry/tracing.js';
import { type AdminKey, ensureAdminKey } from './admin-key.js';
import { launchPostgres } from './postgres.js';
import { shutDown } from './shutdown.js';

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
}

/** Starts a listening server from a configuration. If a step fails, the earlier steps are undone in reverse order. */
export async function start(config: Config, pino: Pino, { tracing, secrets }: StartOptions = {}): Promise<Running> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.toReversed()) await closer();
  };
  try {
    if (tracing) closers.push(() => tracing.stop());
    await requireFreePort(config.http);
    const plugins = await pluginsOf(config);
    for (const { name, version, from } of plugins?.all ?? [])
      pino.info({ event: 'plugin.loaded', plugin: name, version, from }, `loaded the plugin ${name}`);
    const postgres = await launchPostgres(config, pino);
    closers.push(() => postgres.stop());
    const { createApp } = await import('../app.js'); // takes about as long as the start of the embedded Postgres
    await postgres.ready();
    const options = databaseOptions(config, postgres.url);
    await runMigrations(options, pino);
    const fastifyPlugins = tracing ? [tracing.fastifyPlugin] : [];
    const app = await createApp({ config, database: options, pino, fastifyPlugins, secrets, plugins });
    let serving = false;
    closers.push(async () => await (serving ? shutDown(app, config.shutdown) : app.nest.close()));
    const adminKey = await ensureAdminKey(app.nest.get(AdminKeys, { strict: false }), config, postgres.embedded);
    await listen(app, config.http);
    serving = true;
    return { url: urlOf(app), embedded: postgres.embedded, adminKey, stop: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function pluginsOf({ plugins, pluginLimits }: Config): Promise<Plugins | undefined> {
  if (plugins.length === 0) return undefined;
  const { loadPlugins } = await import('../plugins/plugin.loader.js');
  return await loadPlugins(plugins, process.cwd(), pluginLimits);
}

async function runMigrations(options: DatabaseOptions, pino: Pino): Promise<void> {
  const onWait = (): void => pino.info({ event: 'database.migrating' }, 'waiting for another replica to migrate');
  const names = await migrate(options, SCHEMA, { onWait });
  if (names.length === 0) return;
  pino.info({ event: 'database.migrated', last: names.at(-1) }, `applied ${names.length} migrations`);
}

export function databaseOptions({ database, http }: Config, url: string): DatabaseOptions {
  const { poolSize, reservedPoolSize, operationTimeout, transactionFactor } = database;
  return {
    url,
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

async function listen({ nest }: App, address: Config['http']): Promise<void> {
  try {
    await nest.listen(address.port, address.host);
  } catch (error) {
    throw explain(error, address);
  }
}

function explain(error: unknown, { host, port }: Config['http']): unknown {
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
