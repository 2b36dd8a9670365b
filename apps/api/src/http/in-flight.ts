import type { FastifyReply } from 'fastify';
import { ApiError } from './api.error.js';
import { toProblem } from './problem.js';

const LOOK_EVERY_MS = 500;

/**
 * The requests being worked on. One that takes longer than the limit is answered for its handler, so that no client
 * waits for ever. Fastify's own handler timeout makes a timer and an abort controller for every request; this is one
 * timer for all of them.
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

  end(reply: FastifyReply): void {
    this.started.delete(reply);
  }

  /** For a request that waits on purpose, and ends by itself. */
  exempt(reply: FastifyReply): void {
    this.started.delete(reply);
  }

  /** A reply that something else took over, as streams do, has no limit. */
  answerOverdue(now: number): number {
    let answered = 0;
    for (const [reply, since] of this.started) {
      if (now - since < this.limitMs) return answered; // in order of arrival: the rest came later
      this.started.delete(reply);
      if (!reply.sent) answered += answerFor(reply, this.limitMs);
    }
    return answered;
  }

  start(): void {
    this.timer = setInterval(() => this.answerOverdue(performance.now()), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }
}

function answerFor(reply: FastifyReply, limitMs: number): number {
  const error = new ApiError(
    'TIMED_OUT',
    `No answer was found within ${limitMs} ms. It may still take effect; repeat it with an Idempotency-Key.`,
    {
      retryAfterMs: 1_000,
    },
  );
  const { status, headers, body } = toProblem(error, reply.request.id);
  void reply.code(status).headers(headers).send(JSON.stringify(body));
  return 1;
}
