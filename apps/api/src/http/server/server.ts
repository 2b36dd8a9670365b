import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import type { Config } from '../../config/config.schema.js';
import type { Lifecycle } from '../../health/lifecycle.js';
import { releaseOnAnswer } from '../../limits/concurrency.limiter.js';
import { ANY, type HttpMetrics } from '../../telemetry/http.metrics.js';
import { useArchiveBodies } from '../body/archive-body.parser.js';
import { useJsonBodies } from '../body/json-body.parser.js';
import { ApiError } from '../problems/api.error.js';
import { type ErrorFormat, PROBLEM_CONTENT_TYPE, replyProblem, toProblem } from '../problems/problem.js';
import type { InFlight } from './in-flight.js';
import { newRequestId, requestContext, requestIdOf } from './request.context.js';
import type { AnsweredRequest, RequestLog } from './request.log.js';
import type { RouteTable } from './routes.js';
import { TrustedProxies } from './trusted-proxies.js';

interface ServerParts {
  config: Config;
  log: RequestLog;
  metrics: HttpMetrics;
  lifecycle: Lifecycle;
  inFlight: InFlight;
  routes: RouteTable;
  fastifyPlugins: unknown[];
}

const HEADERS_TIMEOUT_MS = 10_000;

/** Maximum length of a path parameter; a longer one is rejected with 400. Reservation keys have up to 200 characters. */
const MAX_PARAMETER_LENGTH = 300;

const MAX_QUERY_LENGTH = 8_192;
const MAX_PARAMETERS = 50;

/** How long a client may take to send the rest of its request after the server begins to close. */
const GRACE_MS = 1_000;

/** The headers of Helmet that an API needs: no caching, no embedding in a page, no MIME sniffing. */
export const API_HEADERS: Record<string, string> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
};

/** A page also needs scripts, styles (Swagger UI uses inline styles), and protection from other pages. */
const PAGE_HEADERS: Record<string, string> = {
  ...API_HEADERS,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
    "font-src 'self'; connect-src 'self'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
};

/** RFC 6797 forbids this header on plain HTTP, so it is sent only if the proxy reports that the client uses HTTPS. */
const HSTS = ['strict-transport-security', 'max-age=31536000; includeSubDomains'] as const;

/** Clients of A2A and MCP append a slash to the address of an endpoint, because they resolve it as a folder. */
const ENDPOINT_WITH_SLASH = /^(\/(?:a2a|mcp)(?:\/[^?]*[^?/])?)\/(?=\?|$)/;

const SHUTTING_DOWN = new ApiError('SHUTTING_DOWN', 'Send the request again to reach another replica.', {
  retryAfterMs: 1_000,
});

const NO_HOST = new ApiError('MALFORMED_REQUEST', 'The request has no Host header, which HTTP/1.1 requires.');

const NUL = new ApiError('MALFORMED_REQUEST', 'The URL contains a NUL character (%00). Remove it.');
const TOO_LONG = new ApiError('MALFORMED_REQUEST', `The query may have at most ${MAX_QUERY_LENGTH} characters.`);
const TOO_MANY = new ApiError('MALFORMED_REQUEST', `The URL may have at most ${MAX_PARAMETERS} query parameters.`);

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
    rewriteUrl: ({ url = '/' }) => url.replace(ENDPOINT_WITH_SLASH, '$1'),
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
  const unmatched = metrics.timerOf(ANY, 'unmatched');
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
      timer.observe(reply.statusCode, ms, request.protocol);
      if (log.includes(reply.statusCode)) log.write(answered(request, reply, ms));
      done(null, typeof payload === 'string' && isTerminal(request) ? lineOf(reply, payload) : payload);
    };
    route.onSend = [route.onSend ?? [], onSend].flat();
  });
  server.addHook('onClose', (_server, done) => {
    inFlight.stop();
    done();
  });
  inFlight.start();
}

/** Programs that print an answer as it is: without a line break at its end, the prompt of the shell would follow it (N-12). */
function isTerminal({ headers: { 'user-agent': agent = '' } }: FastifyRequest): boolean {
  return agent.startsWith('curl/') || agent.startsWith('Wget/');
}

function lineOf(reply: FastifyReply, payload: string): string {
  const isJson = String(reply.getHeader('content-type') ?? '').includes('json');
  if (!isJson || payload === '' || payload.endsWith('\n')) return payload;
  if (reply.hasHeader('content-length')) reply.header('content-length', Buffer.byteLength(payload) + 1);
  return `${payload}\n`;
}

/** Checks the path and query of a request before they are parsed. Returns undefined when they are valid. */
function urlError(url: string): ApiError | undefined {
  if (url.includes('%00')) return NUL;
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  if (url.length - start - 1 > MAX_QUERY_LENGTH) return TOO_LONG;
  return url.slice(start).split('&').length > MAX_PARAMETERS ? TOO_MANY : undefined;
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

/**
 * Closes the connections that wait for their client when the server closes: connections that never carried a request (browsers and
 * proxies open some in advance) and connections with an incomplete request. Node counts both as active, so `closeIdleConnections`
 * leaves them open and the server would never stop. Requests in progress are completed first, even if the server has already
 * stopped listening: Fastify waits only for a server that still listens.
 */
function closeUnusedConnections(server: FastifyInstance): void {
  const closed = Promise.withResolvers<void>();
  let hasListened = false;
  server.server.once('listening', () => (hasListened = true));
  server.server.once('close', closed.resolve);
  /** The response to the latest request of each connection. */
  const latest = new Map<Socket, ServerResponse>();
  server.server.on('request', ({ socket }, response) => {
    if (!latest.has(socket)) socket.once('close', () => latest.delete(socket));
    latest.set(socket, response);
  });
  server.addHook('preClose', async () => {
    const timer = setInterval(() => {
      if (![...latest.values()].some(isBeingHandled)) server.server.closeAllConnections();
    }, GRACE_MS).unref();
    void closed.promise.then(() => clearInterval(timer));
    if (hasListened && !server.server.listening) await closed.promise;
  });
}

function isBeingHandled(response: ServerResponse): boolean {
  return response.req.complete && !response.writableFinished;
}
