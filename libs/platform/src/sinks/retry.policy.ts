export interface RetryPolicy {
  /** The number of attempts before an event is parked. Null means no limit. */
  maxAttempts: number | null;
  firstDelayMs: number;
  maxDelayMs: number;
}

/**
 * Returns the delay after a number of consecutive failures. It doubles with each failure up to `maxDelayMs`. `random`,
 * between 0 and 1, varies the delay, so that sinks do not retry at the same time. `retryAfterMs` is the minimum that
 * the receiver asked for; it is limited to `maxDelayMs` too.
 */
export function retryDelay(
  { firstDelayMs, maxDelayMs }: RetryPolicy,
  failures: number,
  random: number,
  retryAfterMs: number = 0,
): number {
  const backoffMs = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures - 1, 40));
  return Math.ceil(Math.min(maxDelayMs, Math.max(backoffMs * (0.5 + random / 2), retryAfterMs)));
}

export function isExhausted({ maxAttempts }: RetryPolicy, failures: number): boolean {
  return maxAttempts !== null && failures >= maxAttempts;
}
