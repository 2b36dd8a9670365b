import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { type DefinitionContent, proposedName } from '../definition.js';
import { checkedText, fileProblem, isInside, readLimited } from './limited.file.js';
import { type ParsedFile, type ParsedSpec, shown, SpecFileError, type SpecOptions } from './spec.js';
import { parseJsonSpecs, parseMarkdownSpec } from './spec.parser.js';

export interface LoadedSpec {
  readonly file: string;
  readonly line: number;
  /** The lines of the keys. */
  readonly lines: ReadonlyMap<string, number>;
  readonly name: string;
  readonly content: DefinitionContent;
}

/** A problem of one file or folder. The path is relative to the folder of specs, so that it does not reveal where that folder is. */
export interface SpecDiagnostic {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** The result of each file. The loaded specs are sorted by name, and include specs with warnings. */
export interface SpecReport {
  readonly loaded: readonly LoadedSpec[];
  readonly warned: readonly SpecDiagnostic[];
  readonly rejected: readonly SpecDiagnostic[];
  /** Markdown files without front matter, such as a README. */
  readonly skipped: readonly SpecDiagnostic[];
}

/** A file that is in memory. */
export interface SpecText {
  /** Relative, with `/`. */
  readonly path: string;
  readonly content: string;
}

interface SpecTree {
  /** The real path of the folder. */
  readonly root: string;
  /** The spec files, as sorted relative paths with `/`. */
  readonly files: readonly string[];
  readonly problems: readonly SpecDiagnostic[];
}

export type FileResult = ParsedFile & { readonly file: string };

const AGENTS_FOLDER = join('.claude', 'agents');
const MAX_FILE_BYTES = 524_288;
const FILES_AT_A_TIME = 32;
const MAX_DEPTH = 16;
const MAX_ENTRIES = 50_000;
const SPEC_FILE = /\.(?:md|json)$/i;

/** Loads one Markdown or JSON file. */
export async function loadFromFile(file: string, options: SpecOptions = {}): Promise<SpecReport> {
  const path = await realpath(file).catch(() => undefined);
  if (path === undefined) return rejectedReport(basename(file), 'The file does not exist.');
  return specReportOf([await loadFile({ root: dirname(path), path, file: basename(file) }, options)], []);
}

/**
 * Loads all Markdown and JSON files below a folder, or below its `.claude/agents` if there is one. A wrong file never stops the
 * others. If specs have the same name, the first one is loaded, in the order of the paths. With `prefixes`, names begin with the folder of their file.
 */
export async function loadFromDirectory(
  folder: string,
  options: SpecOptions = {},
  prefixes = false,
): Promise<SpecReport> {
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
  return specReportOf(prefixes ? results.map(withPrefix) : results, problems, options.strict);
}

/** Reads a file that is in memory. */
export function parseText({ path, content }: SpecText, options: SpecOptions): FileResult {
  try {
    return parseFile(path, checkedText(Buffer.from(content), MAX_FILE_BYTES), options);
  } catch (error) {
    return failed(path, error);
  }
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

async function loadFile({ root, path, file }: SpecPath, options: SpecOptions): Promise<FileResult> {
  try {
    return parseFile(file, await readLimited(path, root, MAX_FILE_BYTES), options);
  } catch (error) {
    return failed(file, error);
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

/** Of several specs with the same name, the first one is loaded. With `strict`, the others are rejected. */
export function specReportOf(
  results: readonly FileResult[],
  problems: readonly SpecDiagnostic[],
  strict = false,
): SpecReport {
  const all = results.flatMap(({ file, specs }) => specs.map((spec) => ({ file, ...spec })));
  const firsts = [...Map.groupBy(all, ({ name }) => name).values()].flatMap(([first]) => first ?? []);
  const ignored = all.filter((spec) => !firsts.includes(spec)).map((spec) => toIgnored(spec, firsts));
  return {
    loaded: firsts.map(withoutWarnings).toSorted((one, other) => (one.name < other.name ? -1 : 1)),
    warned: [
      ...firsts.flatMap(({ file, warnings }) => warnings.map((warning) => ({ file, ...warning }))),
      ...(strict ? [] : ignored),
    ],
    rejected: [
      ...problems,
      ...results.flatMap(({ file, errors }) => errors.map((error) => ({ file, ...error }))),
      ...(strict ? ignored : []),
    ],
    skipped: results.flatMap(({ file, skipped }) =>
      skipped === undefined ? [] : [{ file, line: 1, message: skipped }],
    ),
  };
}

/** `tuner` in `team/db/tuner.md` becomes `team:db:tuner`. */
function withPrefix({ file, specs, ...rest }: FileResult): FileResult {
  const folders = file.split('/').slice(0, -1);
  const prefix = folders.flatMap((folder) => proposedName(folder) ?? []).join(':');
  if (prefix === '') return { file, specs, ...rest };
  return { file, ...rest, specs: specs.map((spec) => ({ ...spec, name: `${prefix}:${spec.name}` })) };
}

function withoutWarnings({ file, line, lines, name, content }: FoundSpec): LoadedSpec {
  return { file, line, lines, name, content };
}

function toIgnored({ file, line, name }: FoundSpec, loaded: readonly FoundSpec[]): SpecDiagnostic {
  const other = loaded.find((spec) => spec.name === name)?.file ?? '';
  const message = `This agent is ignored, because ${other} also contains an agent ${shown(name)}. Rename one of them, or set ROLLCALL_AGENTS_PREFIX to folder.`;
  return { file, line, message };
}

function rejectedReport(file: string, message: string): SpecReport {
  return { loaded: [], warned: [], rejected: [{ file, line: 1, message }], skipped: [] };
}

/** Finds the Markdown and JSON files below a folder. Hidden entries and node_modules are ignored. Links out of the folder are rejected. */
async function findSpecFiles(root: string): Promise<SpecTree> {
  const search = new Search(root);
  await search.visit(root, 0);
  const { files, problems } = search;
  return { root, files: files.toSorted(), problems };
}

/** Whether a search below the root finds this path. */
export function isSpecPath(path: string): boolean {
  return SPEC_FILE.test(path) && !path.split('/').some(isIgnored);
}

function isIgnored(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

/** One search below a folder. */
class Search {
  readonly files: string[] = [];
  readonly problems: SpecDiagnostic[] = [];
  private seen = 0;

  constructor(private readonly root: string) {}

  async visit(folder: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) return this.report(folder, `The folder is more than ${MAX_DEPTH} levels deep.`);
    for (const entry of await this.entriesOf(folder)) {
      this.seen += 1;
      if (this.seen === MAX_ENTRIES + 1)
        this.report(this.root, `There are more than ${MAX_ENTRIES} files and folders. The rest is not loaded.`);
      if (this.seen > MAX_ENTRIES) return;
      await this.onEntry(join(folder, entry.name), entry, depth);
    }
  }

  private async onEntry(path: string, entry: Dirent, depth: number): Promise<void> {
    if (entry.isDirectory()) return await this.visit(path, depth + 1);
    if (entry.isSymbolicLink()) return await this.onLink(path);
    if (entry.isFile() && SPEC_FILE.test(entry.name)) this.files.push(this.relative(path));
  }

  /** A link to a file inside the folder is not followed, because the file is loaded at its own path. */
  private async onLink(path: string): Promise<void> {
    const linked = await realpath(path).catch(() => undefined);
    if (linked !== undefined && isInside(this.root, linked)) return;
    const isFolder = linked !== undefined && (await stat(linked)).isDirectory();
    if (!isFolder && !SPEC_FILE.test(path)) return;
    this.report(path, linked === undefined ? 'The link leads nowhere.' : 'The link leads out of the folder.');
  }

  private async entriesOf(folder: string): Promise<Dirent[]> {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.filter(({ name }) => !isIgnored(name));
    } catch (error) {
      this.report(folder, `The folder cannot be read: ${fileProblem(error)}`);
      return [];
    }
  }

  private report(path: string, message: string): void {
    this.problems.push({ file: this.relative(path) || '.', line: 1, message });
  }

  private relative(path: string): string {
    return relative(this.root, path).split(sep).join('/');
  }
}
