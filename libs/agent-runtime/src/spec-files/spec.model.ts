import { BUILT_IN_ALIASES, INHERIT, InlineChoiceSchema } from '#rollcall/providers';
import type { DefinitionContent } from '../definitions/definition.js';
import { suggestion } from '../tools/closest.name.js';
import type { SpecOptions } from './spec.js';
import { type SpecProblems, shown } from './spec.problems.js';

type Model = Pick<DefinitionContent, 'model'>;

/** Reads `model`. A model that does not exist here is replaced by the default preset, with a warning. */
export function readModel(value: unknown, problems: SpecProblems, { knownModels }: SpecOptions): Model {
  if (value === undefined || value === null || value === '') return {};
  if (typeof value !== 'string') return readInline(value, problems);
  const name = value.trim();
  const known = knownModels && [INHERIT, ...BUILT_IN_ALIASES, ...knownModels];
  if (!known || known.includes(name)) return { model: name };
  const similar = suggestion(name, known);
  problems.warn('model', `The model ${shown(name)} does not exist${similar}, so the default preset is used.`);
  return {};
}

function readInline(value: unknown, problems: SpecProblems): Model {
  const { success, data } = InlineChoiceSchema.safeParse(value);
  if (success) return { model: data };
  problems.error('model', 'model must be a name, or a vendor and a model, or a preset and the values to change.');
  return {};
}
