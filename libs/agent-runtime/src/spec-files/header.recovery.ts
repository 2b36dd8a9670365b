import { closestName } from '../tools/closest.name.js';
import { readYaml } from './header.yaml.js';
import type { SpecProblem } from './spec.problems.js';

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

export interface RecoveredHeader {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly warnings: readonly SpecProblem[];
}

/**
 * Reads a header that is not valid YAML, key by key. A value that is not valid YAML is used as plain text, with a warning. Unknown
 * keys are kept. Returns undefined if the header has no known key.
 */
export function recoverHeader(
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
