import { ApiError } from '../http/api.error.js';

const WINDOW_MS = 1_000;
const CALLERS_REMEMBERED = 100_000;

export interface Window {
  endsAt: number;
  spent: number;
}

/** Someone whose requests are counted. */
export interface Counted {
  readonly id: string;
  /** The one it spent from last, kept at hand: looking it up among ten thousand costs more than all else here. */
  window?: Window;
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

  spend(caller: Counted): void {
    if (this.perSecond === 0) return;
    const now = this.now();
    if (!caller.window || caller.window.endsAt <= now) caller.window = this.windowOf(caller.id, now);
    const { window } = caller;
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

  private windowOf(id: string, now: number): Window {
    const known = this.windows.get(id);
    if (known && known.endsAt > now) return known;
    // Forgetting everyone now and then is cheaper than keeping an order of who came last, and costs at most one window.
    if (this.windows.size >= CALLERS_REMEMBERED) this.windows.clear();
    const window = { endsAt: now + WINDOW_MS, spent: 0 };
    this.windows.set(id, window);
    return window;
  }
}
