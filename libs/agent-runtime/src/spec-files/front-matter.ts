import { type Document, isMap, isScalar, LineCounter, parseDocument } from 'yaml';
import { SpecFileError } from './spec-file.error.js';

/** A warning for the author of a file. The file is loaded nevertheless. */
export interface SpecWarning {
  readonly line: number;
  readonly message: string;
}

export interface FrontMatter {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The text after the front matter, without surrounding blank lines. */
  readonly body: string;
  readonly warnings: readonly SpecWarning[];
}

const FENCE = /^---[ \t]*$/;
const MAX_HEADER_LENGTH = 65_536;
/** More than all known keys. Each entry is parsed alone. */
const MAX_ENTRIES = 100;
/** The header begins after the fence, on the second line of the file. */
const FIRST_HEADER_LINE = 2;

/**
 * Reads Markdown with YAML front matter. Many files in use are not valid YAML, for example because a description contains
 * an unquoted colon. Such a header is read again, key by key: a known key at the start of a line begins a new value, and a
 * value that is not valid YAML is used as plain text, with a warning.
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
  const yaml = readYaml(header.join('\n'));
  if (yaml.ok) return { fields: yaml.fields, body, warnings: [] };
  const recovered = recover(header, knownKeys);
  if (!recovered)
    throw new SpecFileError(yaml.line + FIRST_HEADER_LINE - 1, `The front matter is not valid YAML: ${yaml.problem}`);
  return { ...recovered, body };
}

type YamlResult = { ok: true; fields: Record<string, unknown> } | { ok: false; line: number; problem: string };

function readYaml(source: string): YamlResult {
  const lineCounter = new LineCounter();
  try {
    // uniqueKeys takes time in proportion to the square of the number of keys
    const document = parseDocument(source, { lineCounter, prettyErrors: false, logLevel: 'silent', uniqueKeys: false });
    const error = document.errors[0] ?? duplicateKey(document);
    if (error) return { ok: false, line: lineCounter.linePos(error.pos[0]).line, problem: error.message };
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    if (isFields(value)) return { ok: true, fields: value };
    return { ok: false, line: 1, problem: 'it must contain keys with values, such as name: reviewer' };
  } catch (error) {
    // an alias, or nesting that is too deep
    return { ok: false, line: 1, problem: error instanceof Error ? error.message : String(error) };
  }
}

/** The first key of the header that occurs a second time. */
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

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Entry {
  key: string;
  line: number;
  lines: string[];
}

function recover(header: readonly string[], knownKeys: readonly string[]): Omit<FrontMatter, 'body'> | undefined {
  const entries = entriesOf(header, new Set(knownKeys));
  if (entries.length === 0 || entries.length > MAX_ENTRIES) return undefined;
  const fields: Record<string, unknown> = {};
  const warnings: SpecWarning[] = [];
  for (const { key, line, lines } of entries) {
    if (Object.hasOwn(fields, key))
      warnings.push({ line, message: `The key ${key} occurs twice. The last value is used.` });
    const yaml = readYaml(lines.join('\n'));
    if (yaml.ok) fields[key] = yaml.fields[key];
    else {
      fields[key] = plainText(key, lines);
      warnings.push({
        line,
        message: `The value of ${key} is not valid YAML, so it is used as plain text. Put it in quotes.`,
      });
    }
  }
  return { fields, warnings };
}

/** Splits the header at the known keys. Lines before the first known key belong to no entry. */
function entriesOf(header: readonly string[], known: ReadonlySet<string>): Entry[] {
  const entries: Entry[] = [];
  for (const [index, line] of header.entries()) {
    const key = /^([A-Za-z][\w-]*):(?:\s|$)/.exec(line)?.[1];
    if (key !== undefined && known.has(key)) entries.push({ key, line: index + FIRST_HEADER_LINE, lines: [line] });
    else entries.at(-1)?.lines.push(line);
  }
  return entries;
}

function plainText(key: string, lines: readonly string[]): string {
  return lines
    .join('\n')
    .slice(key.length + 1)
    .trim();
}
