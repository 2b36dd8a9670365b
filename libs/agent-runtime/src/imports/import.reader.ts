import { type FileResult, parseText, reportOf, type SpecReport, type SpecText } from '../spec-files/spec.loader.js';
import type { SpecOptions } from '../spec-files/spec.js';
import { isSpecPath } from '../spec-files/spec.tree.js';
import { ImportTooLargeError } from './import.errors.js';

const AGENTS_FOLDER = '.claude/agents/';
export const MAX_DEFINITIONS = 1_000;

/**
 * Reads files that are in memory, with the rules of a folder: if there are files below `.claude/agents`, only these are read, and
 * hidden files and files of other types are skipped. Other requests can proceed between two files.
 */
export async function readImport(files: readonly SpecText[], options: SpecOptions): Promise<SpecReport> {
  const results: FileResult[] = [];
  let count = 0;
  for (const file of specFiles(files)) {
    await new Promise(setImmediate);
    const result = parseText(file, options);
    count += result.specs.length;
    if (count > MAX_DEFINITIONS) throw new ImportTooLargeError(MAX_DEFINITIONS);
    results.push(result);
  }
  return reportOf(results, []);
}

function specFiles(files: readonly SpecText[]): SpecText[] {
  const inner = files.filter(({ path }) => path.startsWith(AGENTS_FOLDER));
  if (inner.length === 0) return files.filter(({ path }) => isSpecPath(path));
  return inner.filter(({ path }) => isSpecPath(path.slice(AGENTS_FOLDER.length)));
}
