import { RequestMethod } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger as Pino } from 'pino';
import type { PlatformOptions } from '#rollcall/platform';
import type { SecretSource } from '#rollcall/providers';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.schema.js';
import { Lifecycle } from './health/lifecycle.js';
import { serveConsole } from './http/console.js';
import { serveDocs } from './http/docs.js';
import { InFlight } from './http/server/in-flight.js';
import { ProblemFilter } from './http/problems/problem.filter.js';
import { RequestLog } from './http/server/request.log.js';
import { RouteTable } from './http/server/routes.js';
import { createServer } from './http/server/server.js';
import { RouteAdmission } from './auth/route.admission.js';
import { SocketAdapter } from './auth/sockets/socket.adapter.js';
import { SocketAccess } from './auth/sockets/socket.access.js';
import { ProtectedResource } from './mcp/metadata.controller.js';
import { validationPipe } from './http/validation/validation.pipe.js';
import { Plugins } from './plugins/plugins.js';
import { HttpMetrics } from './telemetry/http.metrics.js';
import { isPretty, NestLogger } from './telemetry/logger.js';
import { TerminalSummary } from './telemetry/terminal.js';
import { VERSION } from './version.js';

export interface AppParts {
  config: Config;
  database: PlatformOptions['database'];
  pino: Pino;
  fastifyPlugins?: unknown[];
  plugins?: Plugins;
  /** Reads secrets by name, such as the API keys of model vendors. The default source has no secrets. */
  secrets?: SecretSource;
}

export interface App {
  nest: NestFastifyApplication;
  lifecycle: Lifecycle;
  routes: RouteTable;
}

/** Routes without the prefix `/v1`, because proxies, metrics scrapers and clients of other protocols expect them at their usual paths. */
const UNVERSIONED = [
  'health/{*path}',
  'metrics',
  '.well-known/{*path}',
  'a2a',
  'a2a/{*path}',
  'mcp',
  'mcp/{*path}',
  'ard',
  'ard/{*path}',
  'v0.1/{*path}',
  'x/{*path}',
];

/** Actions whose path looks like the path of an object. The name of an action cannot be the id of an object. */
const POST_ONLY = ['/v1/agents/query', '/v1/agents/batch', '/v1/budgets/reservations', '/v1/budgets/runs'];

/** Creates and initialises the application. The database must be migrated. The server does not listen yet. */
export async function createApp(parts: AppParts): Promise<App> {
  const app = await composeApp(parts);
  try {
    const hasConsole = parts.config.http.console === 'on';
    serveDocs(app.nest, VERSION, hasConsole);
    if (hasConsole) await serveConsole(app.nest);
    await app.nest.init();
    await app.nest.getHttpAdapter().getInstance().ready();
    return app;
  } catch (error) {
    await app.nest.close();
    throw error;
  }
}

/** Creates the application without initialising it. Nothing is started, and no connection is opened. */
export async function composeApp(parts: AppParts): Promise<App> {
  const { config, database, pino, fastifyPlugins = [], secrets = () => undefined } = parts;
  const { plugins = Plugins.of([], config.pluginLimits) } = parts;
  const lifecycle = new Lifecycle();
  const inFlight = new InFlight(config.http.handlerTimeout);
  const metrics = new HttpMetrics(() => inFlight.count);
  const routes = new RouteTable();
  const summary = isPretty(config.log.format)
    ? new TerminalSummary((event, text) => pino.info({ event }, text))
    : undefined;
  const log = new RequestLog(pino, config.log.requests, summary);
  const adapter = createServer({ config, log, metrics, lifecycle, inFlight, routes, fastifyPlugins });
  const module = AppModule.with({ config, database, lifecycle, metrics, summary, inFlight, secrets, plugins });
  const nest = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: new NestLogger(pino),
    bodyParser: false,
    abortOnError: false,
    routeConflictPolicy: { duplicate: 'error', shadow: 'off' },
  });
  nest.setGlobalPrefix('v1', { exclude: UNVERSIONED.map((path) => ({ path, method: RequestMethod.ALL })) });
  nest.useGlobalPipes(validationPipe());
  nest.useGlobalFilters(new ProblemFilter(routes));
  nest.useWebSocketAdapter(new SocketAdapter(nest));
  nest.get(RouteAdmission, { strict: false }).addTo(adapter.getInstance());
  nest.get(ProtectedResource, { strict: false }).addTo(adapter.getInstance());
  for (const { path } of nest.get(SocketAccess, { strict: false }).all()) routes.addSocket(path, adapter.getInstance());
  routes.allowOnlyPost(POST_ONLY, adapter.getInstance());
  return { nest, lifecycle, routes };
}
