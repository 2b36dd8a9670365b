import { z } from 'zod';
import { BUILT_IN_ALIASES, INHERIT, InlineChoiceSchema } from '#rollcall/providers';
import { suggestion } from '../../tools/closest.name.js';
import type { DefinitionContent } from '../definition.js';
import { shown, type SpecOptions, type SpecProblems } from './spec.js';

/** Keys with the same name and the same effect as a field of the definition. */
const DEFINITION_KEYS = [
  'provider',
  'settings',
  'capabilities',
  'costModel',
  'approve',
  'maxIterations',
  'maxDelegationDepth',
  'maxConcurrency',
  'whenBusy',
  'budget',
  'inheritTools',
  'subagents',
  'mayAsk',
  'outputSchema',
  'metadata',
] as const;

/** Keys that hold the system prompt in JSON. In Markdown, the system prompt is the text after the front matter. */
export const PROMPT_KEYS = ['prompt', 'systemPrompt', 'instructions'] as const;

/** Keys of Claude Code that restrict or extend an agent there and have no effect here. */
export const KEYS_WITHOUT_EFFECT = ['permissionMode', 'mcpServers', 'hooks', 'memory', 'isolation'] as const;

/** Keys that are kept as metadata. */
export const METADATA_KEYS = [
  ...KEYS_WITHOUT_EFFECT,
  'background',
  'omitClaudeMd',
  'effort',
  'color',
  'initialPrompt',
  'experimental',
  'autoCompactWindow',
  'observer',
  'observerMessage',
  'criticalSystemReminder_EXPERIMENTAL',
  'version',
  'author',
  'category',
  'tags',
  'license',
] as const;

export const KNOWN_KEYS: readonly string[] = [
  'name',
  'agent_type',
  'description',
  'tools',
  'disallowedTools',
  'model',
  'skills',
  'maxTurns',
  ...DEFINITION_KEYS,
  ...PROMPT_KEYS,
  ...METADATA_KEYS,
];

const MAX_MESSAGE = 300;
const MAX_NAMED = 10;
const AnyRecord = z.record(z.string(), z.unknown());
const Amount = z.int().nonnegative().nullable();
const Dollars = z.number().nonnegative().nullish();
const TextList = z.unknown().transform((value, context) => {
  const list = textList(value);
  if (list) return list;
  context.addIssue('expected a list of texts');
  return z.NEVER;
});

const SCHEMAS = {
  provider: z.string().min(1),
  settings: AnyRecord,
  capabilities: TextList,
  costModel: z.strictObject({ usdPerTask: Dollars, usdPer1kTokens: Dollars }),
  approve: z.record(z.string(), z.enum(['operator', 'caller'])),
  maxIterations: z.int().positive(),
  maxDelegationDepth: z.int().nonnegative(),
  maxConcurrency: z.int().positive(),
  whenBusy: z.enum(['queue', 'reject']),
  budget: z.strictObject({ tokens: Amount.default(null), microUsd: Amount.default(null) }),
  inheritTools: z.enum(['union', 'intersection', 'off']),
  subagents: TextList,
  mayAsk: z.boolean(),
  outputSchema: AnyRecord,
  metadata: AnyRecord,
} satisfies Record<(typeof DEFINITION_KEYS)[number], z.ZodType>;

type DefinitionFields = Partial<Pick<DefinitionContent, keyof typeof SCHEMAS>>;

/** Reads the keys that are named like a field of the definition. An invalid value is always an error, because it may be a limit. */
export function readDefinitionFields(
  fields: Readonly<Record<string, unknown>>,
  problems: SpecProblems,
): DefinitionFields {
  const found: Record<string, unknown> = {};
  for (const key of DEFINITION_KEYS) {
    if (fields[key] === undefined || fields[key] === null) continue;
    const { success, data, error } = SCHEMAS[key].safeParse(fields[key]);
    if (success) found[key] = Array.isArray(data) ? withoutDuplicates(key, data, problems) : data;
    else problems.error(key, `${key} is not valid: ${messageOf(error)}.`);
  }
  return found;
}

function messageOf({ issues }: z.ZodError): string {
  const texts = issues.map(({ path, message }) => (path.length === 0 ? message : `${message} at ${path.join('.')}`));
  return texts.join(', ').slice(0, MAX_MESSAGE);
}

/** Claude Code also accepts `maxTurns: "10"`. */
export function readMaxTurns(value: unknown, problems: SpecProblems): Pick<DefinitionContent, 'maxIterations'> {
  if (value === undefined || value === null) return {};
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  const { success, data } = SCHEMAS.maxIterations.safeParse(number);
  if (success) return { maxIterations: data };
  problems.error('maxTurns', 'maxTurns must be a positive whole number.');
  return {};
}

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

const MAX_SKILLS = 100;
const Skills = z
  .array(
    z.union([
      z.string().transform((name) => ({ name: name.trim(), mode: 'preload' as const })),
      z.strictObject({ name: z.string(), mode: z.enum(['preload', 'catalog']).default('preload') }),
    ]),
  )
  .max(MAX_SKILLS);

type SkillChoice = Pick<DefinitionContent, 'skills'>;

/** Reads `skills`. As in Claude Code, the text of a skill is preloaded, unless the entry says otherwise. */
export function readSkills(value: unknown, problems: SpecProblems, { knownSkills }: SpecOptions): SkillChoice {
  if (value === undefined || value === null) return {};
  const { success, data } = Skills.safeParse(textList(value) ?? value);
  if (!success) {
    problems.error('skills', `skills must be a list of at most ${MAX_SKILLS} names.`);
    return {};
  }
  const names = withoutDuplicates(
    'skills',
    Array.from(data, ({ name }) => name),
    problems,
  );
  const isKnown = (name: string): boolean => knownSkills === undefined || knownSkills.includes(name);
  for (const name of names.filter((one) => !isKnown(one)))
    problems.warn(
      'skills',
      `The skill ${shown(name)} does not exist${suggestion(name, knownSkills ?? [])}, so it is dropped.`,
    );
  return { skills: names.filter(isKnown).flatMap((name) => data.find((skill) => skill.name === name) ?? []) };
}

/** Reads a comma-separated text or a list of texts. Commas in parentheses do not separate. Undefined for any other value. */
export function textList(value: unknown): string[] | undefined {
  if (typeof value === 'string') return withoutEmpty(splitAtCommas(value));
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) return undefined;
  return withoutEmpty(value);
}

/** Removes the elements that occur a second time, with a warning. */
export function withoutDuplicates(key: string, texts: readonly string[], problems: SpecProblems): string[] {
  const unique = new Set(texts);
  if (unique.size < texts.length) {
    const repeated = new Set(texts.filter((text, index) => texts.indexOf(text) !== index));
    const names = [...repeated].slice(0, MAX_NAMED).map(shown).join(', ');
    problems.warn(key, `${key} contains the same element twice: ${names}.`);
  }
  return [...unique];
}

function withoutEmpty(texts: readonly string[]): string[] {
  return texts.map((text) => text.trim()).filter((text) => text !== '');
}

function splitAtCommas(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '(') depth += 1;
    else if (character === ')') depth = Math.max(0, depth - 1);
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...parts, text.slice(start)];
}
