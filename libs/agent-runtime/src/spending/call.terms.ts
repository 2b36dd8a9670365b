import {
  choiceOf,
  costOf,
  type ModelProvider,
  type ModelRequest,
  type ModelUsage,
  type Prices,
} from '#rollcall/providers';
import type { SpendingAmount } from './spending.js';

/** What a call may use at most. */
export interface CallSize {
  readonly input: number;
  readonly output: number;
}

/** The prices and the default output limit of a model. */
export interface ModelTerms {
  readonly prices?: Prices;
  readonly maxOutputTokens?: number;
}

export function termsOf(model: ModelProvider): ModelTerms {
  const choice = choiceOf(model);
  return { prices: choice?.prices, maxOutputTokens: choice?.settings.maxOutputTokens };
}

export function outputLimitOf({ settings }: ModelRequest, terms: ModelTerms, byDefault: number): number {
  return settings?.maxOutputTokens ?? terms.maxOutputTokens ?? byDefault;
}

/** The most that a call of this size costs. Input may have to be written to the cache, which can cost more. */
export function amountOf({ input, output }: CallSize, { prices }: ModelTerms): SpendingAmount {
  const tokens = input + output;
  if (!prices) return { tokens, microUsd: 0 };
  const highest = { input: Math.max(prices.input, prices.cacheWrite ?? 0), output: prices.output };
  return { tokens, microUsd: costOf({ inputTokens: input, outputTokens: output }, highest) ?? 0 };
}

/** The usage with its price, if both are known. */
export function priced(usage: ModelUsage, { prices }: ModelTerms): ModelUsage & { costMicroUsd?: number } {
  const costMicroUsd = prices && costOf(usage, prices);
  return costMicroUsd === undefined ? usage : { ...usage, costMicroUsd };
}
