import type { FastifyReply } from 'fastify';
import { ApiError } from '../http/api.error.js';
import { ConcurrencyLimiter } from '../http/concurrency.limiter.js';
import { holdPlace } from '../http/request.places.js';
import { FailureLimiter } from './failure.limiter.js';

/** How many unknown credentials one address may present in a second. */
const FAILURES_PER_SECOND = 100;

/**
 * Limits by address what a client costs before it has proven who it is: how many of its requests are worked on at the same
 * time, and how many look-ups may fail in a second. Look-ups that succeed do not count, so a fleet behind one address may
 * reconnect at once.
 */
export class UnprovenRequests {
  private readonly failures = new FailureLimiter(FAILURES_PER_SECOND);
  private readonly concurrency: ConcurrencyLimiter;

  constructor(limit: number) {
    this.concurrency = new ConcurrencyLimiter({ requests: limit, streams: limit });
  }

  async lookUp<Found>(address: string, find: () => Promise<Found>): Promise<Found> {
    this.failures.check(address);
    const places = this.concurrency.enter({ id: address }, 'requests');
    try {
      return await find();
    } catch (error) {
      if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') this.failures.count(address);
      throw error;
    } finally {
      places.requests -= 1;
    }
  }

  /** For a route that needs no credential. */
  hold(reply: FastifyReply): void {
    holdPlace(reply, this.concurrency, { id: reply.request.ip }, 'requests');
  }
}
