import type { ModelUsage } from '../models/usage.js';

/** Micro-dollars per million tokens, whole numbers: money is never a fraction that rounding could lose. */
export interface Prices {
  input: number;
  output: number;
  /** Where a cache has no price of its own, its tokens cost as much as other input. */
  cacheRead?: number;
  cacheWrite?: number;
}

const MICRO_PER_DOLLAR = 1_000_000;
const PER_TOKENS = 1_000_000n;

/** 3.75 dollars per million tokens are 3,750,000 micro-dollars. */
export function toMicroDollars(dollars: number): number {
  return Math.round(dollars * MICRO_PER_DOLLAR);
}

/**
 * What a usage costs, in micro-dollars, rounded up once. Undefined when a count that matters is not known: a guess would
 * look like a fact.
 */
export function costOf(usage: ModelUsage, prices: Prices): number | undefined {
  const { inputTokens, outputTokens } = usage;
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  const read = Math.min(usage.cacheReadTokens ?? 0, inputTokens);
  const written = Math.min(usage.cacheWriteTokens ?? 0, inputTokens - read);
  const sum =
    product(inputTokens - read - written, prices.input) +
    product(read, prices.cacheRead ?? prices.input) +
    product(written, prices.cacheWrite ?? prices.input) +
    product(outputTokens, prices.output);
  return Number((sum + PER_TOKENS - 1n) / PER_TOKENS);
}

function product(tokens: number, price: number): bigint {
  return BigInt(tokens) * BigInt(price);
}
