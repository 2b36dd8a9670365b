import { InlineChoiceSchema } from '#rollcall/providers';
import type { DefinitionContent } from '../definitions/definition.js';
import { suggestion } from '../tools/closest.name.js';
import type { SpecOptions } from './spec.js';
import { type SpecProblems, shown } from './spec.problems.js';

/** Names of Claude Code that mean the default preset, unless the operator has defined them. */
const BUILT_IN_ALIASES = new Set(['sonnet', 'opus', 'haiku']);
const INHERIT = 'inherit';

type Model = Pick<DefinitionContent, 'model'>;

/** Reads `model`. A model that does not exist here is replaced by the default preset, with a warning. */
export function readModel(value: unknown, problems: SpecProblems, { knownModels }: SpecOptions): Model {
  if (value === undefined || value === null || value === '') return {};
  if (typeof value !== 'string') return readInline(value, problems);
  const name = value.trim();
  if (name === INHERIT || knownModels?.includes(name)) return { model: name };
  if (BUILT_IN_ALIASES.has(name)) return {};
  if (knownModels === undefined) return { model: name };
  const similar = suggestion(name, knownModels);
  problems.warn('model', `The model ${shown(name)} does not exist${similar}, so the default preset is used.`);
  return {};
}

function readInline(value: unknown, problems: SpecProblems): Model {
  const { success, data } = InlineChoiceSchema.safeParse(value);
  if (success) return { model: data };
  problems.error('model', 'model must be a name, or a vendor and a model, or a preset and the values to change.');
  return {};
}
