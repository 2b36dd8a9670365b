import { ApiError } from '../http/problems/api.error.js';

const WINDOW_MS = 1_000;
const MAX_CALLERS = 100_000;
const ADVICE = 'ask the operator to raise ROLLCALL_RATE_LIMIT';

export interface Window {
  endsAt: number;
  requests: number;
}

/** A caller whose requests are counted. */
export interface RateLimitedCaller {
  readonly id: string;
  /** The last window of the caller. It is stored here because a look-up among many callers is slower than the counting. */
  window?: Window;
}

/**
 * Counts the requests of each caller on this replica in fixed windows of one second. No library is used, because this limiter
 * must be synchronous: a promise for each request would slow down the hot routes.
 */
export class RateLimiter {
  private readonly windows = new Map<string, Window>();

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Throws when the caller has sent more than `perSecond` requests in this second; 0 means no limit. */
  count(caller: RateLimitedCaller, perSecond = this.perSecond, advice = ADVICE): void {
    if (perSecond === 0) return;
    const now = this.now();
    if (!caller.window || caller.window.endsAt <= now) caller.window = this.windowOf(caller.id, now);
    const { window } = caller;
    window.requests += 1;
    if (window.requests <= perSecond) return;
    const detail = `More than ${perSecond} requests arrived in one second. Send fewer, or ${advice}.`;
    throw new ApiError('RATE_LIMITED', detail, { retryAfterMs: Math.ceil(window.endsAt - now) });
  }

  private windowOf(id: string, now: number): Window {
    const known = this.windows.get(id);
    if (known && known.endsAt > now) return known;
    // Clearing the whole map is cheaper than an LRU order, and loses the counts of at most one window.
    if (this.windows.size >= MAX_CALLERS) this.windows.clear();
    const window = { endsAt: now + WINDOW_MS, requests: 0 };
    this.windows.set(id, window);
    return window;
  }
}
