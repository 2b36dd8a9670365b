import { parseFrontMatter } from './front-matter.js';
import { JsonScanner } from './json.scanner.js';
import { readSpec } from './spec.content.js';
import { KNOWN_KEYS, PROMPT_KEYS } from './spec.fields.js';
import { type ParsedFile, type ParsedSpec, shown, SpecFileError, type SpecOptions, SpecProblems } from './spec.js';

type Fields = Readonly<Record<string, unknown>>;
const NO_SPEC: ParsedFile = Object.freeze({
  specs: [],
  errors: [],
  skipped: 'The file does not begin with front matter (---), so it contains no agent.',
});
const MAX_SPECS = 1_000;
const BYTE_ORDER_MARK = /^\uFEFF/;
/** A key at the start of a line of the front matter, with the spaces after it. */
const KEY = /^["']?([^\s"'#:-][^"':]*)(?:["']\s*)?:/;
/** A JSON object with a text under one of these keys is one spec, not a map of specs. */
const KEYS_OF_ONE_SPEC = ['name', 'agent_type', 'description', ...PROMPT_KEYS];

/** Reads Markdown with YAML front matter, as Claude Code does. A text without front matter, such as a README, is not a spec. */
export function parseMarkdownSpec(text: string, options: SpecOptions = {}): ParsedFile {
  if (!/^\uFEFF?---[ \t]*(?:[\r\n]|$)/.test(text)) return NO_SPEC;
  try {
    const { fields, body, warnings } = parseFrontMatter(text, KNOWN_KEYS);
    const lines = linesOfKeys(text);
    const problems = new SpecProblems((key) => lines.get(key) ?? 1, options.strict ?? false);
    for (const warning of warnings) problems.warnAt(warning);
    const { specs, errors } = fileOf(parseOne(fields, body, { problems, options }));
    // YAML that could not be read may be the cause of the errors
    return { specs, errors: errors.length > 0 && !options.strict ? [...warnings, ...errors] : errors };
  } catch (error) {
    return { specs: [], errors: [errorOf(error)] };
  }
}

/** Reads JSON: one spec, or a map of names to specs as for the option `--agents` of Claude Code. */
export function parseJsonSpecs(source: string, options: SpecOptions = {}): ParsedFile {
  const text = source.replace(BYTE_ORDER_MARK, '');
  const scanner = new JsonScanner(text);
  try {
    const value = readJson(text, scanner);
    const isOne = KEYS_OF_ONE_SPEC.some((key) => typeof value[key] === 'string');
    return isOne ? oneSpec(value, scanner, options) : mapOfSpecs(value, scanner, options);
  } catch (error) {
    return { specs: [], errors: [errorOf(error)] };
  }
}

interface Place {
  /** The line of the spec, if it differs from the line of its name. */
  readonly line?: number;
  readonly problems: SpecProblems;
  readonly options: SpecOptions;
}
type Outcome = { readonly spec?: ParsedSpec } & Pick<ParsedFile, 'errors'>;

function parseOne(fields: Fields, body: string, { problems, options, line }: Place): Outcome {
  const { warnings, errors, lineOf } = problems;
  const found = readSpec(fields, body, problems, options);
  if (!found) return { errors };
  const lines = new Map(Object.keys(fields).map((key) => [key, lineOf(key)]));
  const nameLine = lineOf(fields['name'] === undefined ? 'agent_type' : 'name');
  return { spec: { ...found, line: line ?? nameLine, lines, warnings }, errors };
}

function fileOf(...outcomes: Outcome[]): ParsedFile {
  return {
    specs: outcomes.flatMap(({ spec }) => (spec ? [spec] : [])),
    errors: outcomes.flatMap(({ errors }) => errors),
  };
}

function readJson(text: string, scanner: JsonScanner): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new SpecFileError(scanner.errorLine, 'The text is not valid JSON from this line on.');
  }
  if (isFields(value) && Object.keys(value).length > 0) return value;
  throw new SpecFileError(1, 'The file must contain one spec, or a map of names to specs.');
}

function oneSpec(fields: Fields, scanner: JsonScanner, options: SpecOptions): ParsedFile {
  const problems = new SpecProblems((key) => scanner.lineOf(key), options.strict ?? false);
  for (const key of scanner.duplicates)
    problems.warn(key, `The key ${shown(key)} occurs twice. The last value is used.`);
  return fileOf(parseOne(fields, '', { problems, options }));
}

/** A wrong spec does not affect the others of the map. */
function mapOfSpecs(map: Fields, scanner: JsonScanner, options: SpecOptions): ParsedFile {
  if (Object.keys(map).length > MAX_SPECS) throw new SpecFileError(1, `The file has more than ${MAX_SPECS} specs.`);
  return fileOf(
    ...Object.entries(map).map(([name, fields]) => {
      const problems = new SpecProblems((key) => scanner.lineOf(name, key), options.strict ?? false, name);
      if (scanner.duplicates.has(name)) problems.error(name, 'The name occurs twice in this file.');
      if (!isFields(fields)) problems.error(name, 'The value must be a spec: an object.');
      else if (fields['name'] !== undefined && fields['name'] !== name)
        problems.warn('name', 'The name of the spec is its key in the map, so the field name is ignored.');
      const line = scanner.lineOf(name);
      return isFields(fields) ? parseOne({ ...fields, name }, '', { line, problems, options }) : problems;
    }),
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The line of the first occurrence of each key in the front matter. */
function linesOfKeys(text: string): Map<string, number> {
  const found = new Map<string, number>();
  const [, ...lines] = text.split(/\r\n|\n|\r/);
  for (const [index, line] of lines.entries()) {
    if (line.startsWith('---')) break;
    const key = KEY.exec(line)?.[1]?.trimEnd();
    if (key !== undefined && !found.has(key)) found.set(key, index + 2);
  }
  return found;
}

function errorOf(error: unknown): { line: number; message: string } {
  if (error instanceof SpecFileError) return { line: error.line, message: error.message };
  throw error;
}
