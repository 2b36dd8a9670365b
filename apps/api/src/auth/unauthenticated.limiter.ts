import type { FastifyReply } from 'fastify';
import { ApiError } from '../http/problems/api.error.js';
import { ConcurrencyLimiter } from '../http/server/concurrency.limiter.js';
import { holdSlot } from '../http/server/request.slots.js';
import { FailureLimiter } from './failure.limiter.js';

/** How many unknown credentials one address may send in a second. */
const FAILURES_PER_SECOND = 100;

/**
 * Limits the cost of clients that are not authenticated yet, by address: the number of concurrent requests, and the number of
 * failed look-ups in a second. Successful look-ups do not count, so a fleet behind one address may reconnect at the same time.
 */
export class UnauthenticatedLimiter {
  private readonly failures = new FailureLimiter(FAILURES_PER_SECOND);
  private readonly concurrency: ConcurrencyLimiter;

  constructor(limit: number) {
    this.concurrency = new ConcurrencyLimiter({ requests: limit, streams: limit, waits: limit });
  }

  async lookUp<Result>(address: string, find: () => Promise<Result>): Promise<Result> {
    this.failures.check(address);
    const slots = this.concurrency.acquire({ id: address }, 'requests');
    try {
      return await find();
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') this.failures.count(address);
      throw error;
    } finally {
      slots.requests -= 1;
    }
  }

  /** Holds a slot for a request to a public route. */
  hold(reply: FastifyReply): void {
    holdSlot(reply, this.concurrency, { id: reply.request.ip }, 'requests');
  }
}
