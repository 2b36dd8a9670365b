/**
 * The tokens that a call used. A count that the vendor did not report is undefined, never 0, because a budget must
 * distinguish "none" from "unknown". `inputTokens` includes tokens that were read from or written to a cache.
 * `outputTokens` includes reasoning tokens.
 */
export interface ModelUsage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

/** Adds two usages. If a count is unknown in one of them, it is unknown in the sum. */
export function addUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  const sum: ModelUsage = {};
  for (const count of COUNTS) {
    const [left, right] = [one[count], other[count]];
    if (left !== undefined && right !== undefined) sum[count] = left + right;
  }
  return sum;
}
