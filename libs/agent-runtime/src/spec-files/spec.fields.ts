import { z } from 'zod';
import type { DefinitionContent } from '../definitions/definition.js';
import { DEFINITION_KEYS } from './spec.keys.js';
import type { SpecProblems } from './spec.problems.js';
import { textList, withoutDuplicates } from './text.list.js';

const MAX_MESSAGE = 300;
const AnyRecord = z.record(z.string(), z.unknown());
const Amount = z.int().nonnegative().nullable();
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
