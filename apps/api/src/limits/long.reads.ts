import { Injectable } from '@nestjs/common';
import { Semaphore } from '#rollcall/platform';
import { ApiError } from '../http/problems/api.error.js';

/** How many long reads this replica sends to Postgres at the same time. */
const AT_A_TIME = 2;
/** How many reads of one namespace wait. */
const MAX_WAITING = 8;

/**
 * Reads that keep Postgres busy for long, such as sums over the ledger: one of each namespace at a time, and the others wait in order. So a
 * namespace that sends many of them delays only itself (S-4).
 */
@Injectable()
export class LongReads {
  private readonly all = new Semaphore(AT_A_TIME);
  private readonly namespaces = new Map<string, Semaphore>();

  /** Rejects with RATE_LIMITED if too many reads of the namespace wait. */
  async run<Result>(namespace: string, read: () => Promise<Result>): Promise<Result> {
    const own = this.namespaces.get(namespace) ?? new Semaphore(1);
    if (own.waiting >= MAX_WAITING)
      throw new ApiError(
        'RATE_LIMITED',
        `${MAX_WAITING} long reads of this namespace already wait. Send fewer of them at the same time.`,
        { retryAfterMs: 1_000 },
      );
    this.namespaces.set(namespace, own);
    try {
      return await own.run(async () => await this.all.run(read));
    } finally {
      if (own.inUse === 0 && own.waiting === 0) this.namespaces.delete(namespace);
    }
  }
}
