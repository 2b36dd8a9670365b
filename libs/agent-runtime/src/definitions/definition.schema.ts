import { z } from 'zod';
import { InlineChoiceSchema } from '#rollcall/providers';
import { suggestion } from '../tools/closest.name.js';
import { jsonProblem } from '../tools/json.check.js';
import type { DefinitionFault } from './definition.errors.js';
import { type DefinitionContent, isDefinitionName, NATIVE } from './definition.js';

const MAX_BYTES = 262_144;
const MAX_SHOWN = 80;
const MAX_ELEMENTS = 100;

const Names = z.array(z.string().min(1).max(200)).max(500).readonly();
const Json = z.record(z.string(), z.unknown());
const Amount = z.int().positive().nullable();
const Dollars = z.number().nonnegative().max(1_000_000).nullish();
const AgentName = z.string().refine(isDefinitionName, 'must be the name of a definition');

const ContentSchema = z.strictObject({
  description: z
    .string()
    .max(8_192)
    .refine((text) => text.trim() !== '', 'must not be blank'),
  instructions: z.string().max(100_000).default(''),
  provider: z.string().min(1).max(100).default(NATIVE),
  settings: Json.optional(),
  model: z.union([z.string().min(1).max(100), InlineChoiceSchema], 'must be a name or an inline choice').nullish(),
  tools: Names.nullish(),
  disallowedTools: Names.optional(),
  approve: z.record(z.string().min(1).max(200), z.enum(['operator', 'caller'])).optional(),
  skills: z
    .array(
      z.strictObject({ name: z.string().min(1).max(200), mode: z.enum(['preload', 'catalog']).default('catalog') }),
    )
    .max(100)
    .readonly()
    .optional(),
  capabilities: Names.optional(),
  costModel: z.strictObject({ usdPerTask: Dollars, usdPer1kTokens: Dollars }).optional(),
  maxIterations: z.int().min(1).max(1_000).optional(),
  maxDelegationDepth: z.int().min(0).max(32).optional(),
  maxConcurrency: z.int().min(1).max(10_000).optional(),
  whenBusy: z.enum(['queue', 'reject']).optional(),
  budget: z.strictObject({ tokens: Amount.default(null), microUsd: Amount.default(null) }).optional(),
  inheritTools: z.enum(['union', 'intersection', 'off']).optional(),
  subagents: z.array(AgentName).max(500).readonly().optional(),
  mayAsk: z.boolean().optional(),
  outputSchema: Json.optional(),
  plugins: Names.optional(),
  metadata: Json.optional(),
}) satisfies z.ZodType<DefinitionContent>;

const KEYS = Object.keys(ContentSchema.shape);
/** Replaces required fields that are not valid. */
const NOTHING: DefinitionContent = { description: '', instructions: '', provider: '' };

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

const NO_MATCH = 'Invalid string: ';

const UNITS: Readonly<Record<string, string>> = { string: 'characters', array: 'elements' };

interface ReadContent {
  /** The valid fields and elements of lists, with the defaults. If there are faults, it is used only to find further faults. */
  readonly content: DefinitionContent;
  readonly faults: readonly DefinitionFault[];
}

/** Checks the form of a definition and adds the defaults. All problems are reported at once. */
export function readContent(value: unknown): ReadContent {
  const problem = jsonProblem(value, { maxBytes: MAX_BYTES, rejectsReservedNames: true }) ?? unstorable(value);
  if (problem !== undefined)
    return { content: validFields({}), faults: [{ field: 'content', message: `the definition ${problem}` }] };
  const { success, data, error } = ContentSchema.safeParse(value, { reportInput: true });
  if (success) return { content: data, faults: [] };
  return { content: validFields(value), faults: error.issues.flatMap(toFaults) };
}

/** Checks the settings of an agent provider. All problems are reported at once. */
export function settingsFaults(schema: z.ZodType, settings: unknown): DefinitionFault[] {
  const { error } = schema.safeParse(settings, { reportInput: true });
  return (error?.issues ?? []).flatMap((issue) => toFaults({ ...issue, path: ['settings', ...issue.path] }));
}

function validFields(value: unknown): DefinitionContent {
  const given = z.record(z.string(), z.unknown()).safeParse(value).data ?? {};
  const entries = Object.entries(ContentSchema.shape).map(([key, schema]) => [key, validPart(given[key], schema)]);
  const valid = Object.fromEntries(entries.filter(([, part]) => part !== undefined)) as Partial<DefinitionContent>;
  return { ...NOTHING, ...valid };
}

/** The value, or the valid elements of a list. */
function validPart(value: unknown, schema: z.ZodType): unknown {
  const whole = schema.safeParse(value);
  if (whole.success || !Array.isArray(value)) return whole.data;
  const elements = value.slice(0, MAX_ELEMENTS).filter((element: unknown) => schema.safeParse([element]).success);
  return schema.safeParse(elements).data;
}

/** Separates the unknown keys of a definition from the known ones. */
export function withoutUnknownKeys(value: unknown): { value: unknown; unknown: string[] } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { value, unknown: [] };
  const entries = Object.entries(value);
  const known = entries.filter(([key]) => KEYS.includes(key));
  return {
    value: Object.fromEntries(known),
    unknown: entries.flatMap(([key]) => (KEYS.includes(key) ? [] : [key])),
  };
}

export function unknownKey(key: string, path: readonly PropertyKey[] = []): DefinitionFault {
  const shown = key.length > MAX_SHOWN ? `${key.slice(0, MAX_SHOWN)}…` : key;
  const hint = path.length === 0 ? suggestion(key, KEYS) : '';
  const field = [...path, shown].join('.');
  return { field, message: `${field} is not a known field${hint}` };
}

/** Finds characters that Postgres cannot store. The recursion is safe, because `jsonProblem` limits the depth of the value. */
function unstorable(value: unknown): string | undefined {
  if (typeof value === 'string')
    return value.includes('\0') || !value.isWellFormed()
      ? 'contains a NUL character or half of a surrogate pair'
      : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const parts = Array.isArray(value) ? (value as unknown[]) : Object.entries(value).flat();
  return parts.map(unstorable).find((problem) => problem !== undefined);
}

function toFaults(issue: z.core.$ZodIssue): DefinitionFault[] {
  if (issue.code === 'unrecognized_keys') return issue.keys.slice(0, 20).map((key) => unknownKey(key, issue.path));
  const field = issue.path.join('.') || 'content';
  return [{ field, message: `${field} ${contentProblem(issue)}` }];
}

/** States what a field of a definition must be, as the end of the sentence "maxIterations …". */
function contentProblem(issue: z.core.$ZodIssue): string {
  if (issue.input === undefined) return 'is required';
  const { code } = issue;
  if (code === 'invalid_type') return `must be ${TYPES[issue.expected] ?? issue.expected}`;
  if (code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
  if (code === 'too_big') return tooBig(issue);
  if (code === 'invalid_format' && issue.format === 'url') return 'must be a URL';
  if (code === 'invalid_format' && issue.message.startsWith(NO_MATCH)) return issue.message.slice(NO_MATCH.length);
  if (code !== 'too_small') return issue.message;
  return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
}

function tooBig({ origin, maximum }: z.core.$ZodIssueTooBig): string {
  const units = UNITS[origin];
  return units === undefined ? `must be at most ${maximum}` : `must have at most ${maximum} ${units}`;
}
