import { z } from 'zod';
import type { ModelUsage } from '../models/model.provider.js';

/** Prices in micro-dollars per million tokens. They are integers, so that no rounding error occurs. */
export interface Prices {
  input: number;
  output: number;
  /** Without a price for the cache, cached tokens cost the same as other input tokens. */
  cacheRead?: number;
  cacheWrite?: number;
}

export const MICRO_PER_DOLLAR = 1_000_000;
const PER_TOKENS = 1_000_000n;

/** Example: 3.75 dollars are 3,750,000 micro-dollars. */
export function toMicroDollars(dollars: number): number {
  return Math.round(dollars * MICRO_PER_DOLLAR);
}

const Dollars = z.number().nonnegative().max(1_000_000).transform(toMicroDollars);

/** Prices in dollars per million tokens, as vendors publish them. */
export const PricesShape = {
  input: Dollars,
  output: Dollars,
  cacheRead: Dollars.optional(),
  cacheWrite: Dollars.optional(),
};

/**
 * Returns the cost of a usage in micro-dollars, rounded up once at the end. Returns undefined if the input or output count is
 * unknown, because an estimate would look like an exact cost.
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
