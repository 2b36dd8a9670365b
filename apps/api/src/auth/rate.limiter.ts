import { ApiError } from '../http/api.error.js';

const WINDOW_MS = 1_000;
const CALLERS_REMEMBERED = 100_000;

interface Window {
  endsAt: number;
  spent: number;
}

/**
 * A fixed window of one second for each caller, on this replica alone. Written here because it must answer at once:
 * the libraries' limiters answer by promise, which the hot routes would pay for on every request.
 */
export class RateLimiter {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  spend(caller: string): void {
    if (this.perSecond === 0) return;
    const now = this.now();
    const window = this.windows.get(caller);
    if (!window || window.endsAt <= now) {
      this.open(caller, now);
      return;
    }
    window.spent += 1;
    if (window.spent <= this.perSecond) return;
    throw new ApiError(
      'RATE_LIMITED',
      `More than ${this.perSecond} requests in a second. Slow down, or ask for a higher limit.`,
      {
        retryAfterMs: Math.ceil(window.endsAt - now),
      },
    );
  }

  /** Forgetting everyone now and then is cheaper than keeping an order of who came last, and costs at most one window. */
  private open(caller: string, now: number): void {
    if (this.windows.size >= CALLERS_REMEMBERED) this.windows.clear();
    this.windows.set(caller, { endsAt: now + WINDOW_MS, spent: 1 });
  }
}
