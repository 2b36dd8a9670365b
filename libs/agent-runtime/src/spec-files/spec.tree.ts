import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileProblem, isInside } from './limited.file.js';

/** A problem of one file or folder. The path is relative to the folder of specs, so that it does not reveal where that folder is. */
export interface SpecDiagnostic {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface SpecTree {
  /** The real path of the folder. */
  readonly root: string;
  /** The spec files, as sorted relative paths with `/`. */
  readonly files: readonly string[];
  readonly problems: readonly SpecDiagnostic[];
}

const MAX_DEPTH = 16;
const MAX_ENTRIES = 50_000;
const SPEC_FILE = /\.(?:md|json)$/i;

/** Finds the Markdown and JSON files below a folder. Hidden entries and node_modules are ignored. Links out of the folder are rejected. */
export async function findSpecFiles(root: string): Promise<SpecTree> {
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

  /** A link to a target inside the folder is not followed, because the target is loaded at its own path. */
  private async onLink(path: string): Promise<void> {
    const target = await realpath(path).catch(() => undefined);
    if (target !== undefined && isInside(this.root, target)) return;
    const isFolder = target !== undefined && (await stat(target)).isDirectory();
    if (!isFolder && !SPEC_FILE.test(path)) return;
    this.report(path, target === undefined ? 'The link leads nowhere.' : 'The link leads out of the folder.');
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
