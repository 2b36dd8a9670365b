export interface RetryPolicy {
  /** How often one event is tried before it is parked. Null: for ever. */
  mostTries: number | null;
  firstMs: number;
  longestMs: number;
}

/**
 * How long to wait after so many failures in a row: doubled each time, up to a limit, and never the same for two sinks. What
 * the other side asks for is the least, within the same limit. `chance` is between 0 and 1.
 */
export function retryDelay(
  { firstMs, longestMs }: RetryPolicy,
  failures: number,
  chance: number,
  askedMs: number = 0,
): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.ceil(Math.min(longestMs, Math.max(full * (0.5 + chance / 2), askedMs)));
}

export function isGivenUp({ mostTries }: RetryPolicy, failures: number): boolean {
  return mostTries !== null && failures >= mostTries;
}
