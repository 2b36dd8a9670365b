import { ApiError } from '../http/problems/api.error.js';

const WINDOW_MS = 1_000;
const MAX_KEYS = 100_000;

interface Window {
  endsAt: number;
  count: number;
}

/** A caller, an address or a namespace whose requests are counted. */
export interface RateLimited {
  readonly id: string;
  /** The last window of the caller. It is stored here because a look-up among many callers is slower than the counting. */
  window?: Window;
}

/**
 * Counts what each caller does on this replica in fixed windows of one second. The memory is bounded. No library is used, because
 * this limiter must be synchronous: a promise for each request would slow down the hot routes.
 */
export class RateLimiter {
  private readonly windows = new Map<string, Window>();

  /** `explain` returns the text of the rejection for a limit. */
  constructor(
    private readonly explain: (perSecond: number) => string,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Counts one, or `cost`. Throws if these are more than `perSecond` in this second; 0 means no limit. One that is worth more than the
   * limit is accepted if it is the first of its second.
   */
  count(caller: RateLimited, perSecond: number, cost = 1): void {
    if (perSecond === 0) return;
    const window = this.add(caller, cost);
    if (window.count > perSecond && window.count > cost) throw this.rejection(window, perSecond);
  }

  /** Counts one without a check, for a limit that `check` applies before the next one. */
  add(caller: RateLimited, cost = 1): Window {
    const now = this.now();
    if (!caller.window || caller.window.endsAt <= now) caller.window = this.windowOf(caller.id, now);
    caller.window.count += cost;
    return caller.window;
  }

  /** Counts nothing. Throws if the count of this second has reached `perSecond`. */
  check(id: string, perSecond: number): void {
    const window = this.windows.get(id);
    if (window && window.count >= perSecond && window.endsAt > this.now()) throw this.rejection(window, perSecond);
  }

  private windowOf(id: string, now: number): Window {
    const known = this.windows.get(id);
    if (known && known.endsAt > now) return known;
    // Clearing the whole map is cheaper than an LRU order, and loses the counts of at most one window.
    if (this.windows.size >= MAX_KEYS) this.windows.clear();
    const window = { endsAt: now + WINDOW_MS, count: 0 };
    this.windows.set(id, window);
    return window;
  }

  private rejection({ endsAt }: Window, perSecond: number): ApiError {
    return new ApiError('RATE_LIMITED', this.explain(perSecond), { retryAfterMs: Math.ceil(endsAt - this.now()) });
  }
}
