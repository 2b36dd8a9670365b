import type { FastifyReply } from 'fastify';
import { ApiError } from './api.error.js';
import { toProblem } from './problem.js';

const LOOK_EVERY_MS = 500;

/**
 * The requests being worked on, and since when. One that takes longer than the limit is answered for its handler, so that
 * no client waits for ever. Fastify's own handler timeout makes a timer and an abort controller for every request; this is
 * one timer for all of them.
 */
export class InFlight {
  private readonly started = new Map<FastifyReply, number>();
  private timer?: NodeJS.Timeout;

  constructor(private readonly limitMs: number) {}

  get count(): number {
    return this.started.size;
  }

  begin(reply: FastifyReply): void {
    this.started.set(reply, performance.now());
  }

  /** Answers how long it took, in milliseconds. */
  end(reply: FastifyReply): number {
    const since = this.started.get(reply);
    this.started.delete(reply);
    return since === undefined ? 0 : performance.now() - since;
  }

  /** For a request that waits on purpose, and ends by itself. */
  exempt(reply: FastifyReply): void {
    this.started.delete(reply);
  }

  /** The time a client takes to send its body is not ours: it has a limit of its own. */
  answerOverdue(now: number): number {
    let answered = 0;
    for (const [reply, since] of this.started) {
      if (!reply.request.raw.complete) this.started.set(reply, now);
      else if (now - since >= this.limitMs) answered += this.answerFor(reply);
    }
    return answered;
  }

  start(): void {
    this.timer = setInterval(() => this.answerOverdue(performance.now()), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** A reply that something else took over, as streams do, has no limit. */
  private answerFor(reply: FastifyReply): number {
    this.started.delete(reply);
    if (reply.sent) return 0;
    const { status, headers, body } = toProblem(timedOut(this.limitMs), reply.request.id);
    void reply.code(status).headers(headers).send(JSON.stringify(body));
    return 1;
  }
}

export function timedOut(limitMs: number): ApiError {
  const detail = `No answer was found within ${limitMs} ms. It may still take effect; repeat it with an Idempotency-Key.`;
  return new ApiError('TIMED_OUT', detail, { retryAfterMs: 1_000 });
}
