import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import type { Logger as Pino } from 'pino';
import type { Config } from '../config/config.schema.js';
import type { Lifecycle } from '../health/lifecycle.js';
import type { HttpMetrics } from '../telemetry/http.metrics.js';
import { ApiError } from './api.error.js';
import type { InFlight } from './in-flight.js';
import { useJsonBodies } from './json-body.parser.js';
import { PROBLEM_CONTENT_TYPE, toProblem } from './problem.js';
import { requestContext } from './request.context.js';
import type { RouteTable } from './route.table.js';
import { API_HEADERS, HSTS, PAGE_HEADERS } from './security.headers.js';

export interface ServerParts {
  config: Config;
  pino: Pino;
  metrics: HttpMetrics;
  lifecycle: Lifecycle;
  inFlight: InFlight;
  routes: RouteTable;
  fastifyPlugins: unknown[];
}

const HEADERS_TIMEOUT_MS = 10_000;
const LEAVING = new ApiError('SHUTTING_DOWN', 'Send the request again; another replica will take it.', {
  retryAfterMs: 1_000,
});
const NUL_IN_ADDRESS = new ApiError(
  'MALFORMED_REQUEST',
  'The address has a NUL character (%00), which nothing here has.',
);
const ACCEPTABLE_ID = /^[\w.:-]{1,128}$/;

/**
 * Fastify with every limit set: its own defaults are "none". A connection on which nothing arrives falls under the time for
 * headers; one that is idle between requests under the time to keep it alive.
 */
export function createServer(parts: ServerParts): FastifyAdapter {
  const { http } = parts.config;
  const adapter = new FastifyAdapter({
    bodyLimit: http.bodyLimit,
    requestTimeout: http.requestTimeout,
    keepAliveTimeout: http.keepAliveTimeout,
    http: { headersTimeout: Math.min(HEADERS_TIMEOUT_MS, http.requestTimeout) },
    trustProxy: http.trustedProxies.length > 0 ? http.trustedProxies : false,
    return503OnClosing: false,
    logger: false,
    genReqId: requestIdOf,
    clientErrorHandler,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      void sendProblem(reply, error, request.id),
  });
  const server = adapter.getInstance();
  for (const plugin of parts.fastifyPlugins) void server.register(plugin as Parameters<FastifyInstance['register']>[0]);
  parts.routes.collectFrom(server);
  useJsonBodies(server);
  observeRequests(server, parts);
  return adapter;
}

/** The one hook at the start of every request, and the one at the end of those that have a route. */
function observeRequests(server: FastifyInstance, { config, pino, metrics, lifecycle, inFlight }: ServerParts): void {
  const unmatched = metrics.timerOf('ANY', 'unmatched');
  const behindGateway = config.http.trustedProxies.length > 0;
  server.addHook('onRequest', (request, reply, done) => {
    if (behindGateway && request.protocol === 'https') void reply.header(...HSTS);
    if (request.is404) unmatched.observe(404, 0);
    else inFlight.begin(reply);
    void reply.headers(request.url.startsWith('/docs') ? PAGE_HEADERS : API_HEADERS).header('x-request-id', request.id);
    if (lifecycle.phase === 'closing')
      return void sendProblem(reply.header('connection', 'close'), LEAVING, request.id);
    if (request.url.includes('%00')) return void sendProblem(reply, NUL_IN_ADDRESS, request.id);
    requestContext.run(request, done);
  });
  server.addHook('onRoute', (route) => {
    const timer = metrics.timerOf(String(route.method), route.url);
    const onSend: onSendHookHandler = (request, reply, payload, done) => {
      const ms = inFlight.end(reply);
      timer.observe(reply.statusCode, ms);
      if (isWorthALine(config.log.requests, reply)) logRequest(pino, request, reply, ms);
      done(null, payload);
    };
    route.onSend = [route.onSend ?? [], onSend].flat();
  });
  server.addHook('onClose', (_server, done) => {
    inFlight.stop();
    done();
  });
  inFlight.start();
}

function isWorthALine(which: Config['log']['requests'], reply: FastifyReply): boolean {
  return which === 'all' || (which === 'errors' && reply.statusCode >= 500);
}

/** No header, no body and no query string: any of them may hold a secret. */
function logRequest(pino: Pino, request: FastifyRequest, reply: FastifyReply, ms: number): void {
  const line = {
    event: 'http.request',
    requestId: request.id,
    method: request.method,
    path: request.url.split('?', 1)[0],
    status: reply.statusCode,
    ms: Math.round(ms * 10) / 10,
    caller: request.principal?.id,
    ip: request.ip,
  };
  if (reply.statusCode >= 500) pino.error(line);
  else pino.info(line);
}

function requestIdOf(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && ACCEPTABLE_ID.test(given) ? given : newRequestId();
}

/** As unique as a UUID, for a fraction of the time: this process, and a number. */
const PROCESS_ID = randomBytes(9).toString('base64url');
let requests = 0;
function newRequestId(): string {
  return `${PROCESS_ID}-${(requests += 1).toString(36)}`;
}

async function sendProblem(reply: FastifyReply, error: unknown, requestId: string): Promise<void> {
  const problem = toProblem(error, requestId);
  await reply
    .code(problem.status)
    .headers({ ...API_HEADERS, 'x-request-id': requestId, ...problem.headers })
    .send(JSON.stringify(problem.body));
}

/** What is not even HTTP gets its answer on the bare socket. */
function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status, body } = toProblem(refuse(error.code), newRequestId());
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${String(body['title'])}\r\nContent-Type: ${PROBLEM_CONTENT_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

function refuse(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('HEADERS_TOO_LARGE', 'The headers may have 16 KB together.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('REQUEST_TIMEOUT', 'The request did not arrive in time.');
  return new ApiError('MALFORMED_REQUEST', 'This is not a valid HTTP request.');
}
