import { z } from 'zod';
import { ProviderError } from '../errors.js';
import type { ModelUsage } from '../models/model.provider.js';
import {
  INHERIT,
  type InlineChoice,
  InlineChoiceSchema,
  type ModelChoice,
  type PresetCatalog,
  type WantedModel,
} from './preset.catalog.js';
import { costOf } from './prices.js';

type ResolutionRule = 'inline' | 'preset' | 'alias' | 'built-in-alias' | 'inherit' | 'default';

/** Model names that other systems use. Each selects the default preset, unless the operator defines a preset or alias of this name. */
export const BUILT_IN_ALIASES: readonly string[] = ['haiku', 'opus', 'sonnet'];

export interface ResolvedModel {
  choice: ModelChoice;
  rule: ResolutionRule;
  /** The preset of the choice, if there is one. */
  preset?: string;
  /** A sentence that explains the choice. */
  because: string;
}

/**
 * Decides which model a definition uses. An inline choice is used as it is. A name selects a preset or an alias.
 * `inherit` selects the model of the parent. Without a choice, the default preset is used. The result contains the rule
 * that was applied.
 */
export function resolveModel(wanted: WantedModel, catalog: PresetCatalog, parent?: ResolvedModel): ResolvedModel {
  if (wanted === null || wanted === undefined) return byDefault(catalog, 'The definition names no model');
  if (wanted === INHERIT) return inherited(catalog, parent);
  return typeof wanted === 'string' ? byName(wanted, catalog) : inline(wanted, catalog);
}

function byDefault(catalog: PresetCatalog, why: string): ResolvedModel {
  const found = catalog.find(catalog.defaultName);
  if (!found) throw catalog.unknown(catalog.defaultName);
  const because = `${why}, so the default preset ${found.name} is used.`;
  return { choice: found.choice, rule: 'default', preset: found.name, because };
}

function inherited(catalog: PresetCatalog, parent?: ResolvedModel): ResolvedModel {
  if (!parent) return byDefault(catalog, 'The definition inherits its model, but there is no parent');
  const because = `Inherited from the parent. ${parent.because}`;
  return { choice: parent.choice, rule: 'inherit', ...(parent.preset && { preset: parent.preset }), because };
}

function byName(name: string, catalog: PresetCatalog): ResolvedModel {
  const found = catalog.find(name);
  if (!found && BUILT_IN_ALIASES.includes(name)) return byBuiltInAlias(name, catalog);
  if (!found) throw catalog.unknown(name);
  const { choice, name: preset } = found;
  if (preset === name) return { choice, rule: 'preset', preset, because: `${name} is a preset.` };
  return { choice, rule: 'alias', preset, because: `${name} is an alias of the preset ${preset}.` };
}

function byBuiltInAlias(name: string, catalog: PresetCatalog): ResolvedModel {
  const why = `${name} is a built-in alias, and the operator has not defined it`;
  return { ...byDefault(catalog, why), rule: 'built-in-alias' };
}

function inline(wanted: InlineChoice, catalog: PresetCatalog): ResolvedModel {
  const parsed = InlineChoiceSchema.safeParse(wanted);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error));
  const { data } = parsed;
  if ('vendor' in data) {
    const choice = catalog.listed({ ...catalog.connectionOf(data.vendor), ...data, settings: data.settings ?? {} });
    return { choice, rule: 'inline', because: `The definition selects ${data.vendor} ${data.model} directly.` };
  }
  const { choice, preset } = byName(data.preset, catalog);
  return {
    choice: catalog.listed(changed(choice, data)),
    rule: 'inline',
    preset,
    because: `The definition changes the preset ${preset}.`,
  };
}

/** If the model changes, the prices, the context window and the capabilities of the new model are unknown, so they are removed. */
function changed(choice: ModelChoice, { model, settings }: { model?: string; settings?: object }): ModelChoice {
  const { contextWindow, prices, pricesAsOf, capabilities, ...rest } = choice;
  const same = model === undefined || model === choice.model;
  return {
    ...rest,
    ...(model && { model }),
    settings: { ...choice.settings, ...settings },
    ...(same && contextWindow !== undefined && { contextWindow }),
    ...(same && prices && { prices }),
    ...(same && pricesAsOf !== undefined && { pricesAsOf }),
    ...(same && capabilities && { capabilities }),
  };
}

function invalid(what: string): ProviderError {
  return new ProviderError(
    'MODEL_CHOICE_INVALID',
    `The inline model is not valid: ${what} Set a vendor and a model, or a preset and the values to change.`,
  );
}

/** An unknown count or price is null, never 0. */
interface PricedUsage {
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
