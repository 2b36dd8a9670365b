import { type Document, isAlias, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { closestName } from '../../tools/closest.name.js';
import { SpecFileError, type SpecProblem } from './spec.js';

interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text after the front matter, without surrounding blank lines. */
  readonly body: string;
  readonly warnings: readonly SpecProblem[];
}

const FENCE = /^---[ \t]*$/;
const MAX_HEADER_LENGTH = 65_536;
/** The header begins after the fence, on the second line of the file. */
const FIRST_HEADER_LINE = 2;

/**
 * Reads Markdown with YAML front matter. Many files in use are not valid YAML, for example because a description contains
 * an unquoted colon. Such a header is read again, key by key, with a warning for each value that is not valid YAML.
 */
export function parseFrontMatter(text: string, knownKeys: readonly string[]): FrontMatter {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  if (!FENCE.test(lines[0] ?? ''))
    throw new SpecFileError(1, 'The first line must be ---, the start of the front matter.');
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
  if (end === -1) throw new SpecFileError(1, 'The front matter has no end. Add a line with --- after it.');
  const header = lines.slice(1, end);
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim();
  if (header.join('\n').length > MAX_HEADER_LENGTH)
    throw new SpecFileError(FIRST_HEADER_LINE, `The front matter has more than ${MAX_HEADER_LENGTH} characters.`);
  const yaml = readYaml(header.join('\n'), FIRST_HEADER_LINE);
  if (yaml.ok) return { fields: yaml.fields, body, warnings: [] };
  const recovered = recoverHeader(header, FIRST_HEADER_LINE, knownKeys);
  if (recovered) return { ...recovered, body };
  throw new SpecFileError(yaml.line, `The front matter is not valid YAML: ${yaml.problem}`);
}

/** `line` is a line of the file. */
type YamlResult = { ok: true; fields: Record<string, unknown> } | { ok: false; line: number; problem: string };

/**
 * Reads a map of keys and values. `firstLine` is the line of the file where the source begins. Aliases and anchors are rejected,
 * because a few lines with aliases can expand to gigabytes of data.
 */
function readYaml(source: string, firstLine: number): YamlResult {
  const lineCounter = new LineCounter();
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line + firstLine - 1;
  try {
    // uniqueKeys takes time in proportion to the square of the number of keys
    const document = parseDocument(source, { lineCounter, prettyErrors: false, logLevel: 'silent', uniqueKeys: false });
    const error = document.errors[0] ?? duplicateKey(document);
    if (error) return { ok: false, line: lineAt(error.pos[0]), problem: error.message };
    if (/[&*]/.test(source)) rejectReferences(document, lineAt);
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (isFields(value)) return { ok: true, fields: value };
    return { ok: false, line: firstLine, problem: 'it must contain keys with values, such as name: reviewer' };
  } catch (error) {
    if (error instanceof SpecFileError) throw error;
    // for example, nesting that is too deep
    return { ok: false, line: firstLine, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The first key of the first level that occurs a second time. */
function duplicateKey({ contents }: Document.Parsed): { pos: readonly [number]; message: string } | undefined {
  if (!isMap(contents)) return undefined;
  const seen = new Set<unknown>();
  for (const { key } of contents.items) {
    if (!isScalar(key)) continue;
    if (seen.has(key.value)) return { pos: [key.range?.[0] ?? 0], message: 'Map keys must be unique' };
    seen.add(key.value);
  }
  return undefined;
}

function rejectReferences(document: Document.Parsed, lineAt: (offset: number) => number): void {
  visit(document, (_key, node) => {
    if (!isNode(node)) return;
    const line = lineAt(node.range?.[0] ?? 0);
    if (isAlias(node)) throw new SpecFileError(line, notSupported('alias', '*', node.source));
    if (node.anchor !== undefined) throw new SpecFileError(line, notSupported('anchor', '&', node.anchor));
  });
}

function notSupported(what: string, sign: string, name: string): string {
  const remedy = `Write the value itself, or put a text that begins with ${sign} in quotes.`;
  return `The YAML ${what} ${sign}${name.slice(0, 60)} is not supported. ${remedy}`;
}

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** More than the number of known keys. There is a limit, because each entry is parsed alone. */
const MAX_ENTRIES = 100;
/** The texts of these keys often contain lines such as `user: …`, which are not keys. */
const TEXT_KEYS = new Set(['description', 'when_to_use', 'prompt', 'systemPrompt', 'instructions', 'initialPrompt']);
/** An empty line or a comment. */
const BLANK = /^\s*(?:#|$)/;
const KEY = /^([A-Za-z][\w-]*):(?:\s|$)/;

interface Entry {
  readonly key: string;
  /** The line of the key in the file. */
  readonly line: number;
  readonly lines: string[];
}

interface RecoveredHeader {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly warnings: readonly SpecProblem[];
}

/**
 * Reads a header that is not valid YAML, key by key. A value that is not valid YAML is used as plain text, with a warning. Unknown
 * keys are kept. Returns undefined if the header has no known key.
 */
function recoverHeader(
  header: readonly string[],
  firstLine: number,
  knownKeys: readonly string[],
): RecoveredHeader | undefined {
  const known = new Set(knownKeys);
  const { entries, ignored } = splitHeader(header, firstLine, known);
  if (entries.length > MAX_ENTRIES || !entries.some(({ key }) => known.has(key))) return undefined;
  const fields = new Map<string, unknown>();
  const warnings: SpecProblem[] = ignored.slice(0, 1);
  for (const entry of entries) {
    const yaml = readYaml(entry.lines.join('\n'), entry.line);
    if (!yaml.ok && known.has(entry.key)) warnings.push(notYaml(entry), ...similarKeys(entry, knownKeys));
    for (const [key, value] of yaml.ok ? Object.entries(yaml.fields) : [[entry.key, plainText(entry)] as const]) {
      if (fields.has(key))
        warnings.push({ line: entry.line, message: `The key ${key} occurs twice. The last value is used.` });
      fields.set(key, value);
    }
  }
  return { fields: Object.fromEntries(fields), warnings };
}

/** Splits the header at its keys. In a text, only a known key begins a new entry. */
function splitHeader(
  header: readonly string[],
  firstLine: number,
  known: ReadonlySet<string>,
): { entries: Entry[]; ignored: SpecProblem[] } {
  const entries: Entry[] = [];
  const ignored: SpecProblem[] = [];
  for (const [index, text] of header.entries()) {
    const line = index + firstLine;
    const key = KEY.exec(text)?.[1];
    const last = entries.at(-1);
    const isEntry = key !== undefined && (known.has(key) || !last || !TEXT_KEYS.has(last.key));
    if (isEntry) entries.push({ key, line, lines: [text] });
    else if (last) last.lines.push(text);
    else if (!BLANK.test(text)) ignored.push({ line, message: 'The text before the first key is ignored.' });
  }
  return { entries, ignored };
}

function plainText({ key, lines }: Entry): string {
  return lines
    .join('\n')
    .slice(key.length + 1)
    .trim();
}

function notYaml({ key, line, lines }: Entry): SpecProblem {
  const last = line + lines.findLastIndex((text) => text.trim() !== '');
  const end = last === line ? '' : ` up to line ${last}`;
  return {
    line,
    message: `The value of ${key} is not valid YAML, so it is used as plain text${end}. Put it in quotes.`,
  };
}

/** Lines of a text that begin with a misspelled key. The author may expect that they have an effect. */
function similarKeys({ key, line, lines }: Entry, knownKeys: readonly string[]): SpecProblem[] {
  return lines.slice(1, MAX_ENTRIES).flatMap((text, index) => {
    const found = KEY.exec(text)?.[1];
    const similar = found === undefined ? undefined : closestName(found, knownKeys);
    if (similar === undefined) return [];
    const message = `${found} is unknown (did you mean ${similar}?), so the line is a part of the text of ${key}.`;
    return [{ line: line + index + 1, message }];
  });
}
