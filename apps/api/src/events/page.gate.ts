import { ApiError } from '../http/api.error.js';

const LONGEST_WAIT_MS = 3_000;

/**
 * Lets only a few pieces of work run at the same time; the others wait in order, and are refused when they have waited too
 * long. Reading a page of events keeps the event loop busy for milliseconds, so hundreds at once would delay every other
 * request by seconds.
 */
export class PageGate {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(
    private readonly limit: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const since = this.now();
    if (this.running >= this.limit) await new Promise<void>((enter) => this.waiting.push(enter));
    else this.running += 1;
    try {
      if (this.now() - since > LONGEST_WAIT_MS) throw busy();
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next)
        setImmediate(next); // other requests come first
      else this.running -= 1;
    }
  }
}

function busy(): ApiError {
  const detail = 'This replica reads many pages of events already. Try again in a moment, or follow the event stream.';
  return new ApiError('TOO_MANY_CONCURRENT_REQUESTS', detail, { retryAfterMs: 1_000 });
}
