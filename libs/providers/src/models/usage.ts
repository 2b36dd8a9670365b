/**
 * What a call used, in tokens. A count the other side did not state is undefined, never 0: a budget must be able to tell
 * "nothing" from "not known". `inputTokens` includes those read from and written to a cache, `outputTokens` those spent
 * on reasoning.
 */
export interface ModelUsage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

/** The sum of two usages; a count that either one does not know is not known of the sum. */
export function addUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  const sum: ModelUsage = {};
  for (const count of COUNTS) {
    const [left, right] = [one[count], other[count]];
    if (left !== undefined && right !== undefined) sum[count] = left + right;
  }
  return sum;
}
