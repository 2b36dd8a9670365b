import { ApiError } from '../http/problems/api.error.js';

const WINDOW_MS = 1_000;
const MAX_ADDRESSES = 100_000;

/**
 * Counts failed look-ups of credentials by address, in fixed windows of one second. An address that sends more unknown
 * credentials than the limit gets `RATE_LIMITED` instead of a look-up until the window ends. Successful look-ups do not count.
 */
export class FailureLimiter {
  private readonly windows = new Map<string, { endsAt: number; failures: number }>();

  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  check(address: string): void {
    const window = this.windows.get(address);
    if (!window || window.failures < this.perSecond) return;
    const leftMs = window.endsAt - this.now();
    if (leftMs <= 0) return;
    throw new ApiError('RATE_LIMITED', 'Your address has sent too many unknown credentials. Try again later.', {
      retryAfterMs: Math.ceil(leftMs),
    });
  }

  count(address: string): void {
    const now = this.now();
    const window = this.windows.get(address);
    if (window && window.endsAt > now) window.failures += 1;
    else this.open(address, now + WINDOW_MS);
  }

  private open(address: string, endsAt: number): void {
    if (this.windows.size >= MAX_ADDRESSES) this.windows.clear(); // loses the counts of at most one window
    this.windows.set(address, { endsAt, failures: 1 });
  }
}
