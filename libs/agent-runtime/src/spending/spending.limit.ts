import type { SpendingLimit } from './spending.js';

export const NO_LIMIT: SpendingLimit = { tokens: null, microUsd: null };

/** The lower of both limits. */
export function lowerLimit(one: SpendingLimit, other: SpendingLimit): SpendingLimit {
  return { tokens: lower(one.tokens, other.tokens), microUsd: lower(one.microUsd, other.microUsd) };
}

/** Null means no limit. */
function lower(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
