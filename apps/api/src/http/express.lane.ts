import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { AuthGuard } from '../auth/auth.guard.js';
import type { Permission } from '../auth/permissions.js';
import type { Principal } from '../auth/principal.js';
import type { Lifecycle } from '../health/lifecycle.js';
import type { HttpMetrics, RouteTimer } from '../telemetry/http.metrics.js';
import type { Credentialed } from '../auth/authenticator.js';
import type { Answer } from './answer.js';
import type { Gateway } from './gateway.js';
import { parseJsonBody } from './json-body.parser.js';
import { JSON_TYPE } from './json-type.js';
import { problemOf } from './problem.reply.js';
import { requestIdOf } from './request.id.js';
import type { RequestLog } from './request.log.js';
import { API_HEADERS, HSTS } from './security.headers.js';

export interface LaneRoute {
  /** As the ordinary route has it, with one `:id` or none. */
  url: string;
  permission: Permission;
  /** Whether callers send the same bodies over and over, so that one that was read is worth remembering. */
  repeats?: boolean;
  handle(id: string, body: unknown, principal: Principal, answer: Answer): unknown;
}

export interface LaneParts {
  guard: AuthGuard;
  lifecycle: Lifecycle;
  metrics: HttpMetrics;
  log: RequestLog;
  gateway: Gateway;
}

interface Lane extends LaneRoute {
  before: string;
  after: string | undefined;
  timer: RouteTimer;
  /** Bodies that were read before, by their bytes. */
  bodies?: LRUCache<string, object>;
}

const LARGEST_BODY = 4_096;
const BODIES_REMEMBERED_BYTES = 4 * 1_024 * 1_024;
const PLAIN_ID = /^[A-Za-z0-9][\w.:-]{0,127}$/;
const OK_HEADERS = ['content-type', JSON_TYPE];
const STATIC_HEADERS = Object.entries(API_HEADERS).flat();
const STATIC_HEADERS_BY_HTTPS = [...STATIC_HEADERS, ...HSTS];

/**
 * A short cut for the few routes that are called tens of thousands of times a second: Node's own request and response,
 * without the router, hooks and contexts between them, which cost more than the work itself (measured: half of the
 * throughput of heartbeats). It takes only requests that are plain in every respect and leaves all others to the ordinary
 * route, which does the same for every request; what is answered is the same by either way, and a test holds them
 * together. Authentication, permission, limits, headers, metrics and problems are those of the ordinary way.
 */
export class ExpressLane {
  private readonly lanes: Lane[];

  constructor(
    private readonly parts: LaneParts,
    routes: readonly LaneRoute[],
  ) {
    this.lanes = routes.map((route) => {
      const [before = '', after] = route.url.split(':id');
      const timer = parts.metrics.timerOf('POST', route.url);
      return { ...route, before, after, timer, bodies: route.repeats ? rememberedBodies() : undefined };
    });
  }

  /** Puts the lane before the server's own listener. */
  open(server: Server): void {
    const [ordinary] = server.listeners('request') as RequestListener[];
    if (!ordinary) throw new Error('the server has no listener to go before');
    server.removeListener('request', ordinary);
    server.on('request', (request, response) => {
      if (!this.take(request, response)) ordinary(request, response);
    });
  }

  private take(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.method !== 'POST' || this.parts.lifecycle.phase === 'closing' || !isPlain(request)) return false;
    for (const lane of this.lanes) {
      const id = idIn(request.url ?? '', lane);
      if (id === undefined) continue;
      new LaneRequest({ lane, id }, this.parts, request, response).read();
      return true;
    }
    return false;
  }
}

function rememberedBodies(): LRUCache<string, object> {
  return new LRUCache({ maxSize: BODIES_REMEMBERED_BYTES, sizeCalculation: (_, bytes) => bytes.length });
}

/** JSON of a known, small size, and nothing out of the ordinary. */
function isPlain({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length']);
  return (
    length > 0 &&
    length <= LARGEST_BODY &&
    headers['content-type'] === 'application/json' &&
    headers['content-encoding'] === undefined &&
    headers.expect === undefined
  );
}

/** The id in an address of this lane; empty for a lane without one, undefined for other addresses. */
function idIn(url: string, { before, after }: Lane): string | undefined {
  if (after === undefined) return url === before ? '' : undefined;
  if (!url.startsWith(before) || !url.endsWith(after)) return undefined;
  const id = url.slice(before.length, url.length - after.length);
  return PLAIN_ID.test(id) ? id : undefined;
}

/** One request on the lane, from its first byte to its answer. */
class LaneRequest implements Answer, Credentialed {
  private readonly startedAt = performance.now();
  private readonly requestId: string;
  private chunks: Buffer[] = [];
  private missing: number;
  private principal?: Principal;

  constructor(
    private readonly to: { lane: Lane; id: string },
    private readonly parts: LaneParts,
    private readonly request: IncomingMessage,
    private readonly response: ServerResponse,
  ) {
    this.requestId = requestIdOf(request);
    this.missing = Number(request.headers['content-length']);
  }

  get headers(): IncomingMessage['headers'] {
    return this.request.headers;
  }

  get ip(): string {
    return this.parts.gateway.addressOf(this.request);
  }

  read(): void {
    this.request.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.missing -= chunk.length;
      if (this.missing === 0) this.work();
    });
  }

  ok(json: string | Buffer): void {
    this.send(200, OK_HEADERS, typeof json === 'string' ? Buffer.from(json) : json);
  }

  okAscii(json: string): void {
    this.send(200, OK_HEADERS, json);
  }

  fail(error: unknown): void {
    const { status, headers, body } = problemOf(error, this.requestId);
    this.send(status, Object.entries(headers).flat(), Buffer.from(JSON.stringify(body)));
  }

  private work(): void {
    try {
      const [first] = this.chunks;
      const body = this.parse(this.chunks.length === 1 && first ? first : Buffer.concat(this.chunks));
      const principal = this.parts.guard.enter(this, this.to.lane.permission);
      if (principal instanceof Promise)
        principal.then((found) => this.handle(body, found)).catch((error: unknown) => this.fail(error));
      else this.handle(body, principal);
    } catch (error) {
      this.fail(error);
    }
  }

  private parse(bytes: Buffer): unknown {
    const { bodies } = this.to.lane;
    if (!bodies) return parseJsonBody(bytes);
    const key = bytes.toString('latin1');
    const known = bodies.get(key);
    if (known) return known;
    const body = parseJsonBody(bytes);
    if (typeof body === 'object' && body !== null) bodies.set(key, body);
    return body;
  }

  private handle(body: unknown, principal: Principal): void {
    this.principal = principal;
    const { lane, id } = this.to;
    const result = lane.handle(id, body, principal, this);
    if (result instanceof Promise) result.catch((error: unknown) => this.fail(error));
  }

  /** A body that is text is ASCII. */
  private send(status: number, headers: readonly string[], body: string | Buffer): void {
    if (this.response.headersSent) return;
    const own = ['x-request-id', this.requestId, ...headers, 'content-length', String(body.length)];
    const always = this.parts.gateway.saysHttps(this.request) ? STATIC_HEADERS_BY_HTTPS : STATIC_HEADERS;
    this.response.writeHead(status, [...always, ...own]).end(body, 'latin1');
    const ms = performance.now() - this.startedAt;
    this.to.lane.timer.observe(status, ms);
    if (this.parts.log.wants(status)) this.log(status, ms);
  }

  private log(status: number, ms: number): void {
    const { method = '', url = '' } = this.request;
    this.parts.log.write({
      requestId: this.requestId,
      method,
      url,
      status,
      ms,
      caller: this.principal?.id,
      ip: this.ip,
    });
  }
}
