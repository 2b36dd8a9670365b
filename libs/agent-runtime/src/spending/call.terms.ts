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

const TERMS = new WeakMap<ModelProvider, ModelTerms>();

/** The terms of a model never change, so they are kept. */
export function termsOf(model: ModelProvider): ModelTerms {
  const known = TERMS.get(model);
  if (known) return known;
  const choice = choiceOf(model);
  const terms = { prices: choice?.prices, maxOutputTokens: choice?.settings.maxOutputTokens };
  TERMS.set(model, terms);
  return terms;
}

export function outputLimitOf({ settings }: ModelRequest, terms: ModelTerms, byDefault: number): number {
  return settings?.maxOutputTokens ?? terms.maxOutputTokens ?? byDefault;
}

/** The most that a call of this size costs. */
export function amountOf({ input, output }: CallSize, { prices }: ModelTerms): SpendingAmount {
  const tokens = input + output;
  const usage = { inputTokens: input, outputTokens: output };
  return { tokens, microUsd: prices ? (costOf(usage, highest(prices)) ?? 0) : 0 };
}

/**
 * The largest input and the largest output that this amount can pay: the input if the output stays, the output if the input stays.
 * The output is at most that of the size.
 */
export function affordable(amount: SpendingAmount, { input, output }: CallSize, { prices }: ModelTerms): CallSize {
  const byTokens = { input: amount.tokens - output, output: Math.min(output, amount.tokens - input) };
  if (!prices) return byTokens;
  const price = highest(prices);
  const money = amount.microUsd * PER_TOKENS;
  const most = (left: number, each: number): number => (each === 0 ? Infinity : Math.floor(left / each));
  return {
    input: Math.min(byTokens.input, most(money - output * price.output, price.input)),
    output: Math.min(byTokens.output, most(money - input * price.input, price.output)),
  };
}

/** Prices are per million tokens. */
const PER_TOKENS = 1_000_000;

/** Input may have to be written to the cache, which can cost more. */
function highest({ input, output, cacheWrite = 0 }: Prices): Prices {
  return { input: Math.max(input, cacheWrite), output };
}

/** The usage with its price, if both are known. */
export function priced(usage: ModelUsage, { prices }: ModelTerms): ModelUsage & { costMicroUsd?: number } {
  const costMicroUsd = prices && costOf(usage, prices);
  return costMicroUsd === undefined ? usage : { ...usage, costMicroUsd };
}
