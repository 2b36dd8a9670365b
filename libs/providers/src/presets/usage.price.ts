import type { ModelUsage } from '../models/usage.js';
import { resolveModel } from './model.resolver.js';
import type { PresetCatalog } from './preset.catalog.js';
import { costOf } from './prices.js';

/** An unknown count or price is null, never 0. */
export interface PricedUsage {
  tokens: number | null;
  microUsd: number | null;
}

/** Returns the tokens of a call and their price. `model` is the name of a preset or alias. */
export function priceUsage(usage: ModelUsage, model: string | undefined, catalog: PresetCatalog): PricedUsage {
  const { inputTokens, outputTokens } = usage;
  const isKnown = inputTokens !== undefined && outputTokens !== undefined;
  const prices = model === undefined ? undefined : resolveModel(model, catalog).choice.prices;
  const price = prices && costOf(usage, prices);
  return { tokens: isKnown ? inputTokens + outputTokens : null, microUsd: price ?? null };
}
