import type { Credentialed } from '../../auth/authenticator.js';
import type { Principal } from '../../auth/principal.js';
import type { Answer } from '../answer.js';
import { parseJsonBody } from '../json-body.parser.js';
import { JSON_TYPE } from '../json-type.js';
import { problemOf } from '../problem.reply.js';
import { requestIdOf } from '../request.id.js';
import { API_HEADERS, HSTS } from '../security.headers.js';
import type { Lane, LaneParts, UnderWay } from './lanes.js';

/** A request as it came in, by whichever way, and the way back. */
export interface LaneCall {
  readonly url: string;
  readonly headers: Record<string, string | string[] | undefined> & { authorization?: string };
  readonly socket: { remoteAddress?: string };
  /** Headers are names and values in turns. A body that is text is ASCII. */
  send(status: number, headers: readonly string[], body: string | Buffer): void;
}

const OK_HEADERS = ['content-type', JSON_TYPE];
const STATIC_HEADERS = Object.entries(API_HEADERS).flat();
const STATIC_HEADERS_BY_HTTPS = [...STATIC_HEADERS, ...HSTS];

/** One request on the lane, from its last byte to its answer. */
export class LaneRequest implements Answer, Credentialed, UnderWay {
  readonly startedAt = performance.now();
  private readonly requestId: string;
  private principal?: Principal;
  private answered = false;

  constructor(
    private readonly to: { lane: Lane; id: string },
    private readonly parts: LaneParts,
    private readonly call: LaneCall,
  ) {
    parts.underWay.add(this);
    this.requestId = requestIdOf(call);
  }

  get headers(): LaneCall['headers'] {
    return this.call.headers;
  }

  get ip(): string {
    return this.parts.gateway.addressOf(this.call);
  }

  work(bytes: Buffer): void {
    try {
      const body = this.parse(bytes);
      const principal = this.parts.guard.enter(this, this.to.lane.permission);
      if (principal instanceof Promise)
        principal.then((found) => this.handle(body, found)).catch((error: unknown) => this.fail(error));
      else this.handle(body, principal);
    } catch (error) {
      this.fail(error);
    }
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

  private send(status: number, headers: readonly string[], body: string | Buffer): void {
    if (this.answered) return;
    this.answered = true;
    this.parts.underWay.delete(this);
    const always = this.parts.gateway.saysHttps(this.call) ? STATIC_HEADERS_BY_HTTPS : STATIC_HEADERS;
    const own = ['x-request-id', this.requestId, ...headers, 'content-length', String(body.length)];
    const ms = performance.now() - this.startedAt;
    this.to.lane.timer.observe(status, ms);
    if (this.parts.log.wants(status)) this.log(status, ms);
    this.call.send(status, [...always, ...own], body); // last: the call may be the next request's from here on
  }

  private log(status: number, ms: number): void {
    const { url } = this.call;
    this.parts.log.write({
      requestId: this.requestId,
      method: 'POST',
      url,
      status,
      ms,
      caller: this.principal?.id,
      ip: this.ip,
    });
  }
}
