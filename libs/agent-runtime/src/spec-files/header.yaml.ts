import { type Document, isAlias, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import { SpecFileError } from './spec-file.error.js';

/** `line` is a line of the file. */
export type YamlResult = { ok: true; fields: Record<string, unknown> } | { ok: false; line: number; problem: string };

/**
 * Reads a map of keys and values. `firstLine` is the line of the file where the source begins. Aliases and anchors are rejected,
 * because a few lines with aliases can expand to gigabytes of data.
 */
export function readYaml(source: string, firstLine: number): YamlResult {
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
