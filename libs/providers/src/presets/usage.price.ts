import type { ModelUsage } from '../models/usage.js';
import { resolveModel } from './model.resolver.js';
import type { PresetBook } from './preset.book.js';
import { costOf } from './prices.js';

/** A count or a price that is not known is null, never 0. */
export interface PricedUsage {
  tokens: number | null;
  microUsd: number | null;
}

/** The tokens of a call, and their price by the preset or alias that `model` names. */
export function priceUsage(usage: ModelUsage, model: string | undefined, book: PresetBook): PricedUsage {
  const { inputTokens, outputTokens } = usage;
  const isKnown = inputTokens !== undefined && outputTokens !== undefined;
  const prices = model === undefined ? undefined : resolveModel(model, book).choice.prices;
  const price = prices && costOf(usage, prices);
  return { tokens: isKnown ? inputTokens + outputTokens : null, microUsd: price ?? null };
}
