import type { Dirent } from 'node:fs';
import { lstat, readdir, realpath } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import { fileProblem, isInside, readLimited } from '../definitions/spec-files/limited.file.js';
import { SpecFileError } from '../definitions/spec-files/spec.js';
import type { Skill } from './skill.js';
import { parseSkill } from './skill.parser.js';

/** A problem of one file or folder. With `error`, the skill was not loaded; with `warning`, it was loaded. */
export interface SkillDiagnostic {
  readonly severity: 'error' | 'warning';
  /** The path relative to the folder of skills. */
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

export interface LoadedSkills {
  /** Sorted by name. */
  readonly skills: readonly Skill[];
  readonly diagnostics: readonly SkillDiagnostic[];
}

const SKILL_FILE = 'SKILL.md';
const MAX_DEPTH = 6;
const MAX_FOLDERS = 2_000;
const MAX_FILE_BYTES = 262_144;
/** Hidden files may contain secrets, such as .env, so they are not part of a skill (S-18). */
const isIgnored = (name: string): boolean => name.startsWith('.') || name === 'node_modules';
const MAX_LISTED_FILES = 100;
const MAX_FILE_DEPTH = 4;

/** Loads all skills below the folders. If two skills have the same name, the first one wins. A faulty skill never stops the others. */
export async function loadSkills(folders: readonly string[]): Promise<LoadedSkills> {
  const loading = new SkillLoading();
  for (const folder of folders) await loading.add(folder);
  return loading.result();
}

class SkillLoading {
  private readonly skills = new Map<string, { skill: Skill; file: string }>();
  private readonly diagnostics: SkillDiagnostic[] = [];
  private visited = 0;
  private root = '';
  private label = '';

  async add(folder: string): Promise<void> {
    this.label = basename(folder);
    const root = await realpath(folder).catch(() => undefined);
    if (root === undefined) return this.report('error', '', 1, 'The folder does not exist.');
    this.root = root;
    this.visited = 0;
    await this.visit(root, 0);
  }

  result(): LoadedSkills {
    const skills = [...this.skills.values()].map(({ skill }) => skill);
    return { skills: skills.toSorted((one, other) => (one.name < other.name ? -1 : 1)), diagnostics: this.diagnostics };
  }

  private async visit(folder: string, depth: number): Promise<void> {
    this.visited += 1;
    if (this.visited > MAX_FOLDERS) {
      if (this.visited === MAX_FOLDERS + 1)
        this.report('error', folder, 1, `There are more than ${MAX_FOLDERS} folders. The rest is not searched.`);
      return;
    }
    const entries = await this.entriesOf(folder);
    if (entries.some(({ name }) => name === SKILL_FILE)) return await this.load(folder);
    for (const entry of entries) {
      if (isIgnored(entry.name) || depth >= MAX_DEPTH) continue;
      const path = await this.resolve(join(folder, entry.name), entry);
      if (path !== undefined) await this.visit(path, depth + 1);
    }
  }

  private async entriesOf(folder: string): Promise<Dirent[]> {
    try {
      const entries = await readdir(folder, { withFileTypes: true });
      return entries.toSorted((one, other) => (one.name < other.name ? -1 : 1));
    } catch (error) {
      this.report('error', folder, 1, `The folder cannot be read: ${fileProblem(error)}`);
      return [];
    }
  }

  /** Returns the real path of a folder inside the root; undefined for everything else. */
  private async resolve(path: string, entry: Dirent): Promise<string | undefined> {
    if (entry.isDirectory()) return path;
    if (!entry.isSymbolicLink()) return undefined;
    const linked = await realpath(path).catch(() => undefined);
    if (linked === undefined || !(await lstat(linked)).isDirectory()) return undefined;
    if (isInside(this.root, linked)) return undefined; // the folder is visited at its own path
    this.report('error', path, 1, 'The link leads out of the folder of skills, so it is not followed.');
    return undefined;
  }

  private async load(folder: string): Promise<void> {
    const file = join(folder, SKILL_FILE);
    try {
      const text = await readLimited(file, this.root, MAX_FILE_BYTES);
      const { skill, warnings } = parseSkill(text, { name: basename(folder), root: folder });
      for (const { line, message } of warnings) this.report('warning', file, line, message);
      this.keep(skill, file);
    } catch (error) {
      this.report('error', file, error instanceof SpecFileError ? error.line : 1, fileProblem(error));
    }
  }

  private keep(skill: Skill, file: string): void {
    const first = this.skills.get(skill.name);
    if (first)
      return this.report(
        'warning',
        file,
        1,
        `The skill ${skill.name} is ignored, because ${first.file} has the same name.`,
      );
    this.skills.set(skill.name, { skill, file: this.relative(file) });
  }

  private report(severity: SkillDiagnostic['severity'], path: string, line: number, message: string): void {
    this.diagnostics.push({ severity, file: this.relative(path), line, message });
  }

  /** Replaces the path of the root by its label, because diagnostics must not reveal absolute paths. */
  private relative(path: string): string {
    return path === '' ? this.label : join(this.label, relative(this.root, path)).split(sep).join('/');
  }
}

/** The other files of a skill, as sorted paths relative to its folder. Links are not listed. */
export async function filesOf({ root }: Skill): Promise<string[]> {
  const found: string[] = [];
  await collect(root, root, 0, found);
  return found.toSorted();
}

async function collect(root: string, folder: string, depth: number, found: string[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (found.length >= MAX_LISTED_FILES) return;
    if (isIgnored(entry.name)) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_FILE_DEPTH) await collect(root, path, depth + 1, found);
    else if (entry.isFile() && path !== join(root, SKILL_FILE)) found.push(relative(root, path).split(sep).join('/'));
  }
}

/** Reads a text file of a skill. A path that leads out of its folder, and a path to a hidden file, is rejected. */
export async function readSkillFile({ root }: Skill, file: string): Promise<string> {
  if (file.includes('\0')) throw new Error('The path contains a NUL character.');
  const path = join(root, file);
  for (const one of [path, await realpath(path)]) {
    const isHidden = isInside(root, one) && relative(root, one).split(sep).some(isIgnored);
    if (isHidden) throw new Error('It is hidden, so it is not part of the skill.');
  }
  return await readLimited(path, root, MAX_FILE_BYTES);
}
