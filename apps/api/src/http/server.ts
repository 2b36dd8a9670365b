import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import type { Config } from '../config/config.schema.js';
import type { Lifecycle } from '../health/lifecycle.js';
import type { HttpMetrics } from '../telemetry/http.metrics.js';
import { urlError, MAX_PARAMETER_LENGTH } from './url.check.js';
import { ApiError } from './api.error.js';
import { useArchiveBodies } from './archive-body.parser.js';
import type { InFlight } from './in-flight.js';
import { useJsonBodies } from './json-body.parser.js';
import { PROBLEM_CONTENT_TYPE, toProblem } from './problem.js';
import { type ErrorFormat, replyProblem } from './problem.reply.js';
import { requestContext } from './request.context.js';
import { newRequestId, requestIdOf } from './request.id.js';
import type { AnsweredRequest, RequestLog } from './request.log.js';
import type { RouteTable } from './route.table.js';
import { API_HEADERS, HSTS, PAGE_HEADERS } from './security.headers.js';
import { closeUnusedConnections } from './unused.connections.js';
import { TrustedProxies } from './trusted-proxies.js';
import { releaseOnAnswer } from '../limits/concurrency.limiter.js';

export interface ServerParts {
  config: Config;
  log: RequestLog;
  metrics: HttpMetrics;
  lifecycle: Lifecycle;
  inFlight: InFlight;
  routes: RouteTable;
  fastifyPlugins: unknown[];
}

const HEADERS_TIMEOUT_MS = 10_000;
const SHUTTING_DOWN = new ApiError('SHUTTING_DOWN', 'Send the request again to reach another replica.', {
  retryAfterMs: 1_000,
});

const NO_HOST = new ApiError('MALFORMED_REQUEST', 'The request has no Host header, which HTTP/1.1 requires.');

/**
 * Creates Fastify with all limits set, because its defaults are unlimited. A connection without any data ends after the headers
 * timeout, and a connection that is idle between requests ends after the keep-alive timeout.
 */
export function createServer(parts: ServerParts): FastifyAdapter {
  const { http } = parts.config;
  const adapter = new FastifyAdapter({
    bodyLimit: http.bodyLimit,
    requestTimeout: http.requestTimeout,
    keepAliveTimeout: http.keepAliveTimeout,
    http: {
      headersTimeout: Math.min(HEADERS_TIMEOUT_MS, http.requestTimeout),
      // Node would use the first of two Authorization headers, a proxy perhaps the second; joined, they are not a valid credential
      joinDuplicateHeaders: true,
      // Node would answer without a body; `hostError` answers instead
      requireHostHeader: false,
      shouldUpgradeCallback: (request: IncomingMessage) => parts.routes.isSocket(request),
    },
    trustProxy: http.trustedProxies.length > 0 ? http.trustedProxies : false,
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH },
    return503OnClosing: false,
    logger: false,
    genReqId: requestIdOf,
    clientErrorHandler,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      void sendProblem(reply, error, parts.routes.errorFormatOf(request.method, request.url)),
  });
  const server = adapter.getInstance();
  for (const plugin of parts.fastifyPlugins) void server.register(plugin as Parameters<FastifyInstance['register']>[0]);
  parts.routes.collectFrom(server);
  useJsonBodies(server);
  useArchiveBodies(server);
  observeRequests(server, parts);
  closeUnusedConnections(server);
  ignoreUnknownExpectations(server);
  return adapter;
}

/** Node responds to an `Expect` header other than 100-continue with 417 and no body. RFC 9110 allows ignoring it. */
function ignoreUnknownExpectations({ server }: FastifyInstance): void {
  server.on('checkExpectation', (request, response) => void server.emit('request', request, response));
}

/** Adds one hook at the start of every request, and one at the end of every request that has a route. */
function observeRequests(server: FastifyInstance, parts: ServerParts): void {
  const { config, log, metrics, lifecycle, inFlight, routes } = parts;
  const unmatched = metrics.timerOf('ANY', 'unmatched');
  const proxies = new TrustedProxies(config.http.trustedProxies);
  const behindProxy = config.http.trustedProxies.length > 0;
  server.addHook('onRequest', (request, reply, done) => {
    if (behindProxy) readProxyHeaders(request, reply, proxies);
    if (request.is404) unmatched.observe(404, 0);
    else inFlight.begin(reply);
    void reply.headers(request.url.startsWith('/docs') ? PAGE_HEADERS : API_HEADERS).header('x-request-id', request.id);
    // not before the port is closed: a proxy would open a connection for each request, and closing the port resets those not yet accepted
    if (lifecycle.phase !== 'serving' && !server.server.listening) void reply.header('connection', 'close');
    if (lifecycle.phase === 'closing') return replyProblem(reply, SHUTTING_DOWN);
    const invalid = urlError(request.url) ?? hostError(request.raw);
    if (invalid) return replyProblem(reply, invalid);
    if (request.is404) {
      if (log.includes(404)) log.write({ ...answered(request, reply, 0), status: 404 });
      return replyProblem(reply, routes.notFound(request.method, request.url));
    }
    requestContext.run(request, done);
  });
  server.addHook('onRoute', (route) => {
    const timer = metrics.timerOf(String(route.method), route.url);
    const onSend: onSendHookHandler = (request, reply, payload, done) => {
      const ms = inFlight.end(reply);
      releaseOnAnswer(reply);
      timer.observe(reply.statusCode, ms);
      if (log.includes(reply.statusCode)) log.write(answered(request, reply, ms));
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

function hostError({ headers, httpVersion }: IncomingMessage): ApiError | undefined {
  return headers.host === undefined && httpVersion === '1.1' ? NO_HOST : undefined;
}

/** Replaces an invalid `X-Forwarded-For`, so that `request.ip` is always an address. */
function readProxyHeaders(request: FastifyRequest, reply: FastifyReply, proxies: TrustedProxies): void {
  if (request.protocol === 'https') void reply.header(...HSTS);
  const { headers } = request.raw;
  if (headers['x-forwarded-for'] !== undefined) headers['x-forwarded-for'] = proxies.addressOf(request.raw);
}

function answered(request: FastifyRequest, reply: FastifyReply, ms: number): AnsweredRequest {
  const { id: requestId, method, url, ip, principal } = request;
  return { requestId, method, url, status: reply.statusCode, ms, caller: principal?.id, ip };
}

async function sendProblem(reply: FastifyReply, error: unknown, format: ErrorFormat | undefined): Promise<void> {
  const { id: requestId } = reply.request;
  const problem = toProblem(error, requestId);
  const { status, headers, body } = format?.(error, problem) ?? problem;
  await reply
    .code(status)
    .headers({ ...API_HEADERS, 'x-request-id': requestId, ...headers })
    .send(JSON.stringify(body));
}

/** Answers input that is not valid HTTP directly on the socket. */
function clientErrorHandler(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { status, body } = toProblem(parseError(error.code), newRequestId());
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${String(body['title'])}\r\nContent-Type: ${PROBLEM_CONTENT_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`,
  );
}

function parseError(code: string | undefined): ApiError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new ApiError('HEADERS_TOO_LARGE', 'All headers together may have at most 16 KB.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('REQUEST_TIMEOUT', 'The request did not arrive in time.');
  return new ApiError('MALFORMED_REQUEST', 'This is not a valid HTTP request.');
}
