import type { FastifyReply } from 'fastify';
import { ApiError } from '../problems/api.error.js';
import { toProblem } from '../problems/problem.js';

/** How long a request may wait for a change: shorter than the usual timeouts of clients and proxies. */
export const MAX_WAIT_MS = 50_000;

const CHECK_EVERY_MS = 500;

/**
 * The requests in progress, with their start times. A request that takes longer than the limit gets the error `TIMED_OUT`,
 * so that no client waits forever. The handler timeout of Fastify creates a timer and an abort controller for every request;
 * this class uses one timer for all requests.
 */
export class InFlight {
  private readonly started = new Map<FastifyReply, number>();
  /** The start times of requests without a limit. */
  private readonly exempted = new WeakMap<FastifyReply, number>();
  private timer?: NodeJS.Timeout;

  constructor(private readonly limitMs: number) {}

  get count(): number {
    return this.started.size;
  }

  begin(reply: FastifyReply): void {
    this.started.set(reply, performance.now());
  }

  /** Returns the duration of the request in milliseconds. */
  end(reply: FastifyReply): number {
    const since = this.started.get(reply) ?? this.exempted.get(reply);
    this.started.delete(reply);
    return since === undefined ? 0 : performance.now() - since;
  }

  /** Removes the limit of a request that waits intentionally and has its own timeout. */
  exempt(reply: FastifyReply): void {
    const since = this.started.get(reply);
    if (since !== undefined) this.exempted.set(reply, since);
    this.started.delete(reply);
  }

  /**
   * Responds to the requests that reached the limit, and returns their number. The time in which the client sends its body does not
   * count, because sending has its own time limit.
   */
  answerOverdue(now: number): number {
    let answered = 0;
    for (const [reply, since] of this.started) {
      if (!reply.request.raw.complete) this.started.set(reply, now);
      else if (now - since >= this.limitMs) answered += this.answerFor(reply);
    }
    return answered;
  }

  start(): void {
    this.timer = setInterval(() => this.answerOverdue(performance.now()), CHECK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** A reply that was already sent, or that a stream has hijacked, has no limit. */
  private answerFor(reply: FastifyReply): number {
    this.started.delete(reply);
    if (reply.sent) return 0;
    const { status, headers, body } = toProblem(timedOut(this.limitMs), reply.request.id);
    void reply.code(status).headers(headers).send(JSON.stringify(body));
    return 1;
  }
}

export function timedOut(limitMs: number): ApiError {
  const detail = `The request was not completed within ${limitMs} ms. It may still take effect; repeat it with an Idempotency-Key.`;
  return new ApiError('TIMED_OUT', detail, { retryAfterMs: 1_000 });
}
