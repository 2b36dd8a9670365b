import { suggestion } from '../../tools/closest.name.js';
import { type DefinitionContent, isDefinitionName, NATIVE, proposedName } from '../definition.js';
import {
  KEYS_WITHOUT_EFFECT,
  KNOWN_KEYS,
  METADATA_KEYS,
  PROMPT_KEYS,
  readDefinitionFields,
  readMaxTurns,
  readModel,
  readSkills,
} from './spec.fields.js';
import { shown, type SpecOptions, type SpecProblems } from './spec.js';
import { readTools } from './spec.tools.js';

type Fields = Readonly<Record<string, unknown>>;
const MAX_UNKNOWN_KEYS = 10;
/** The deepest nesting of a field that is stored. */
const MAX_DEPTH = 32;
const KNOWN = new Set(KNOWN_KEYS);

/** Reads the fields of one spec. All problems are added to `problems`; the result is undefined if one of them is an error. */
export function readSpec(
  fields: Fields,
  body: string,
  problems: SpecProblems,
  options: SpecOptions,
): { name: string; content: DefinitionContent } | undefined {
  reportKeys(fields, problems);
  const name = readName(fields, problems);
  const { metadata, ...own } = readDefinitionFields(fields, problems);
  const kept = { ...metadataOf(fields), ...metadata };
  const content: DefinitionContent = {
    description: readDescription(fields, problems),
    instructions: readInstructions(fields, body, problems),
    provider: NATIVE,
    ...readModel(fields['model'], problems, options),
    ...readTools(fields, problems, options),
    ...readSkills(fields['skills'], problems, options),
    ...readMaxTurns(fields['maxTurns'], problems),
    ...own,
    ...(Object.keys(kept).length > 0 && { metadata: kept }),
  };
  reportNotStorable(content, problems);
  return problems.errors.length === 0 ? { name, content } : undefined;
}

function reportKeys(fields: Fields, problems: SpecProblems): void {
  const unknown = Object.keys(fields).filter((key) => !KNOWN.has(key));
  for (const key of unknown.slice(0, MAX_UNKNOWN_KEYS))
    problems.warn(key, `The key ${shown(key)} is unknown${suggestion(key, KNOWN_KEYS)}, so it is ignored.`);
  const rest = unknown.length - MAX_UNKNOWN_KEYS;
  if (rest > 0) problems.warn('name', `${rest} more unknown keys are ignored.`);
  for (const key of KEYS_WITHOUT_EFFECT)
    if (key in fields) problems.warn(key, `${key} is kept as metadata, but has no effect here.`);
}

function readName(fields: Fields, problems: SpecProblems): string {
  const { name, agent_type: alias } = fields;
  if (alias !== undefined)
    problems.warn('agent_type', `agent_type is deprecated${name === undefined ? '' : ' and ignored'}. Use name.`);
  const key = name === undefined && alias !== undefined ? 'agent_type' : 'name';
  const text = name ?? alias;
  if (text === undefined || text === null)
    problems.error(key, 'The spec has no name. Add one, such as name: reviewer.');
  else if (typeof text !== 'string') problems.error(key, 'The name must be a text. Put it in quotes.');
  else if (!isDefinitionName(text)) problems.error(key, invalidName(text));
  return String(text);
}

function invalidName(name: string): string {
  const proposal = proposedName(name);
  const rule = 'Use 1 to 128 letters, digits and the characters _ . : -, with a letter or digit first';
  return `The name ${shown(name)} is not valid. ${rule}${proposal === undefined ? '' : `, for example ${proposal}`}.`;
}

function readDescription({ description }: Fields, problems: SpecProblems): string {
  const text = description ?? '';
  if (typeof text !== 'string') problems.error('description', 'The description must be a text. Put it in quotes.');
  else if (text.trim() === '')
    problems.error('description', 'The spec has no description. Add one that states when to use the agent.');
  return typeof text === 'string' ? text.trim() : '';
}

function readInstructions(fields: Fields, body: string, problems: SpecProblems): string {
  const stated = PROMPT_KEYS.filter((key) => fields[key] !== undefined);
  const [first = '', ...others] = body === '' ? stated : ['', ...stated];
  const text = first === '' ? body : fields[first];
  for (const key of others) problems.warn(key, `The spec has two system prompts, so ${key} is ignored.`);
  if (typeof text !== 'string') problems.error(first, `${first} must be a text.`);
  else if (text.trim() === '') problems.warn('name', 'The spec has no system prompt.');
  return typeof text === 'string' ? text.trim() : '';
}

/** The definition of an MCP server can contain secrets, so only the names of the servers are kept. */
function metadataOf(fields: Fields): Record<string, unknown> {
  const entries = METADATA_KEYS.filter((key) => fields[key] !== undefined).map((key) => [key, fields[key]] as const);
  return Object.fromEntries(entries.map(([key, value]) => [key, key === 'mcpServers' ? serverNames(value) : value]));
}

function serverNames(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => (Array.isArray(item) ? [] : serverNames(item)));
  return typeof value === 'object' && value !== null ? Object.keys(value) : [];
}

function reportNotStorable(content: DefinitionContent, problems: SpecProblems): void {
  for (const [key, value] of Object.entries(content)) {
    const problem = unstorablePart(value);
    if (problem !== undefined)
      problems.error(key === 'instructions' ? 'name' : key, `${key} cannot be stored: it contains ${problem}.`);
  }
}

/** Names what a value contains that Postgres cannot store as JSON. Undefined if the value can be stored. */
function unstorablePart(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return textProblem(value);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a number that is not finite';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return `more than ${MAX_DEPTH} levels`;
  for (const [key, item] of Object.entries(value)) {
    const problem = textProblem(key) ?? unstorablePart(item, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL character';
  return text.isWellFormed() ? undefined : 'half of a Unicode surrogate pair';
}
