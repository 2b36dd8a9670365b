import { z } from 'zod';
import { ProviderError } from '../errors.js';
import { InlineChoiceSchema, type InlineChoice, type WantedModel } from './preset.js';
import { INHERIT, type ModelChoice, type PresetBook } from './preset.book.js';

export type ResolutionRule = 'inline' | 'preset' | 'alias' | 'inherit' | 'default';

export interface ResolvedModel {
  choice: ModelChoice;
  rule: ResolutionRule;
  /** The preset the choice comes from, where it comes from one. */
  preset?: string;
  /** In a sentence, why this model and not another. */
  because: string;
}

/**
 * Decides which model a definition means. An inline choice stands as it is; a name is a preset or an alias; `inherit` is
 * whatever the parent was given; nothing at all is the default preset. The answer says which rule won.
 */
export function resolveModel(wanted: WantedModel, book: PresetBook, parent?: ResolvedModel): ResolvedModel {
  if (wanted === null || wanted === undefined) return byDefault(book, 'No model is named');
  if (wanted === INHERIT) return inherited(book, parent);
  return typeof wanted === 'string' ? byName(wanted, book) : inline(wanted, book);
}

function byDefault(book: PresetBook, why: string): ResolvedModel {
  const found = book.find(book.defaultName);
  if (!found) throw book.unknown(book.defaultName);
  const because = `${why}, so the default preset ${found.name} is used.`;
  return { choice: found.choice, rule: 'default', preset: found.name, because };
}

function inherited(book: PresetBook, parent?: ResolvedModel): ResolvedModel {
  if (!parent) return byDefault(book, 'The model is to be inherited, but there is no parent');
  const because = `Inherited from the parent. ${parent.because}`;
  return { choice: parent.choice, rule: 'inherit', ...(parent.preset && { preset: parent.preset }), because };
}

function byName(name: string, book: PresetBook): ResolvedModel {
  const found = book.find(name);
  if (!found) throw book.unknown(name);
  const { choice, name: preset } = found;
  if (preset === name) return { choice, rule: 'preset', preset, because: `${name} is a preset.` };
  return { choice, rule: 'alias', preset, because: `${name} is an alias of the preset ${preset}.` };
}

function inline(wanted: InlineChoice, book: PresetBook): ResolvedModel {
  const parsed = InlineChoiceSchema.safeParse(wanted);
  if (!parsed.success) throw invalid(z.prettifyError(parsed.error));
  const { data } = parsed;
  if ('vendor' in data) {
    const choice = { ...book.connectionOf(data.vendor), ...data, settings: data.settings ?? {} };
    return { choice, rule: 'inline', because: `The definition names ${data.vendor} ${data.model} itself.` };
  }
  const { choice, preset } = byName(data.preset, book);
  return {
    choice: changed(choice, data),
    rule: 'inline',
    preset,
    because: `The definition changes the preset ${preset}.`,
  };
}

/** Another model has other prices and another context window, and what those are is not known. */
function changed(choice: ModelChoice, { model, settings }: { model?: string; settings?: object }): ModelChoice {
  const { contextWindow, prices, ...rest } = choice;
  const same = model === undefined || model === choice.model;
  return {
    ...rest,
    ...(model && { model }),
    settings: { ...choice.settings, ...settings },
    ...(same && contextWindow !== undefined && { contextWindow }),
    ...(same && prices && { prices }),
  };
}

function invalid(what: string): ProviderError {
  return new ProviderError(
    'MODEL_CHOICE_INVALID',
    `The inline model is not right: ${what} Give a vendor and a model, or a preset and what to change.`,
  );
}
