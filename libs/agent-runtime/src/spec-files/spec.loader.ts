import { realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { DefinitionContent } from '../definitions/definition.js';
import { checkedText, fileProblem, isInside, readLimited } from './limited.file.js';
import type { ParsedFile, ParsedSpec, SpecOptions } from './spec.js';
import { SpecFileError } from './spec-file.error.js';
import { parseJsonSpecs, parseMarkdownSpec } from './spec.parser.js';
import { shown } from './spec.problems.js';
import { findSpecFiles, type SpecDiagnostic } from './spec.tree.js';

export interface LoadedSpec {
  readonly file: string;
  readonly line: number;
  /** The lines of the keys. */
  readonly lines: ReadonlyMap<string, number>;
  readonly name: string;
  readonly content: DefinitionContent;
}

/** The result of each file. The loaded specs are sorted by name, and include specs with warnings. */
export interface SpecReport {
  readonly loaded: readonly LoadedSpec[];
  readonly warned: readonly SpecDiagnostic[];
  readonly rejected: readonly SpecDiagnostic[];
  /** The number of Markdown files without front matter, such as a README. */
  readonly skipped: number;
}

const AGENTS_FOLDER = join('.claude', 'agents');
const MAX_FILE_BYTES = 524_288;
const FILES_AT_A_TIME = 32;

/** A file that is in memory. */
export interface SpecText {
  /** Relative, with `/`. */
  readonly path: string;
  readonly content: string;
}

/** Loads one Markdown or JSON file. */
export async function loadFromFile(file: string, options: SpecOptions = {}): Promise<SpecReport> {
  const path = await realpath(file).catch(() => undefined);
  if (path === undefined) return rejectedReport(basename(file), 'The file does not exist.');
  return reportOf([await loadFile({ root: dirname(path), path, file: basename(file) }, options)], []);
}

/**
 * Loads all Markdown and JSON files below a folder, or below its `.claude/agents` if there is one. A wrong file never stops the
 * others. If specs have the same name, none of them is loaded.
 */
export async function loadFromDirectory(folder: string, options: SpecOptions = {}): Promise<SpecReport> {
  const root = await agentsFolder(folder);
  if (root instanceof SpecFileError) return rejectedReport('.', root.message);
  const { files, problems } = await findSpecFiles(root);
  const results: FileResult[] = [];
  for (let start = 0; start < files.length; start += FILES_AT_A_TIME) {
    const batch = files.slice(start, start + FILES_AT_A_TIME);
    const load = async (file: string): Promise<FileResult> =>
      await loadFile({ root, path: join(root, file), file }, options);
    results.push(...(await Promise.all(batch.map(load))));
  }
  return reportOf(results, problems);
}

/** The real path of the folder that contains the specs. */
export async function agentsFolder(folder: string): Promise<string | SpecFileError> {
  const root = await realpath(folder).catch(() => undefined);
  if (root === undefined) return new SpecFileError(1, 'The folder does not exist.');
  const inner = await realpath(join(root, AGENTS_FOLDER)).catch(() => root);
  return isInside(root, inner)
    ? inner
    : new SpecFileError(1, `${AGENTS_FOLDER} is a link that leads out of the folder.`);
}

interface SpecPath {
  readonly root: string;
  readonly path: string;
  /** The name of the file in the report. */
  readonly file: string;
}

export type FileResult = ParsedFile & { readonly file: string };

async function loadFile({ root, path, file }: SpecPath, options: SpecOptions): Promise<FileResult> {
  try {
    return parseFile(file, await readLimited(path, root, MAX_FILE_BYTES), options);
  } catch (error) {
    return failed(file, error);
  }
}

/** Reads a file that is in memory. */
export function parseText({ path, content }: SpecText, options: SpecOptions): FileResult {
  try {
    return parseFile(path, checkedText(Buffer.from(content), MAX_FILE_BYTES), options);
  } catch (error) {
    return failed(path, error);
  }
}

function parseFile(file: string, text: string, options: SpecOptions): FileResult {
  const parse = /\.json$/i.test(file) ? parseJsonSpecs : parseMarkdownSpec;
  return { file, ...parse(text, options) };
}

function failed(file: string, error: unknown): FileResult {
  const line = error instanceof SpecFileError ? error.line : 1;
  return { file, specs: [], errors: [{ line, message: fileProblem(error) }] };
}

type FoundSpec = ParsedSpec & { readonly file: string };

export function reportOf(results: readonly FileResult[], problems: readonly SpecDiagnostic[]): SpecReport {
  const all = results.flatMap(({ file, specs }) => specs.map((spec) => ({ file, ...spec })));
  const byName = Map.groupBy(all, ({ name }) => name);
  const unique = all.filter(({ name }) => byName.get(name)?.length === 1);
  return {
    loaded: unique.map(withoutWarnings).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    warned: unique.flatMap(({ file, warnings }) => warnings.map((warning) => ({ file, ...warning }))),
    rejected: [
      ...problems,
      ...results.flatMap(({ file, errors }) => errors.map((error) => ({ file, ...error }))),
      ...[...byName.values()].flatMap(duplicates),
    ],
    skipped: results.filter(({ specs, errors }) => specs.length === 0 && errors.length === 0).length,
  };
}

function withoutWarnings({ file, line, lines, name, content }: FoundSpec): LoadedSpec {
  return { file, line, lines, name, content };
}

/** Rejects all specs with the same name, because it is unknown which spec the author means. */
function duplicates(specs: readonly FoundSpec[]): SpecDiagnostic[] {
  return specs.flatMap(({ file, line, name }, index) => {
    const other = specs.find((_spec, position) => position !== index);
    if (!other) return [];
    const message = `The name ${shown(name)} is used in ${file} and in ${other.file}. Rename one of the agents.`;
    return [{ file, line, message }];
  });
}

function rejectedReport(file: string, message: string): SpecReport {
  return { loaded: [], warned: [], rejected: [{ file, line: 1, message }], skipped: 0 };
}
