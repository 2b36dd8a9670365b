import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { readLimited } from '../definitions/spec-files/limited.file.js';
import type { Skill } from './skill.js';
import { MAX_FILE_BYTES } from './skill.loader.js';

const MAX_LISTED = 100;
const MAX_DEPTH = 4;

/** The other files of a skill, as sorted paths relative to its folder. Links are not listed. */
export async function filesOf({ root }: Skill): Promise<string[]> {
  const found: string[] = [];
  await collect(root, root, 0, found);
  return found.toSorted();
}

async function collect(root: string, folder: string, depth: number, found: string[]): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    if (found.length >= MAX_LISTED) return;
    const path = join(folder, entry.name);
    if (entry.isDirectory() && depth < MAX_DEPTH) await collect(root, path, depth + 1, found);
    else if (entry.isFile() && path !== join(root, 'SKILL.md')) found.push(relative(root, path).split(sep).join('/'));
  }
}

/** Reads a text file of a skill. A path that leads out of its folder is rejected. */
export async function readSkillFile({ root }: Skill, file: string): Promise<string> {
  if (file.includes('\0')) throw new Error('The path contains a NUL character.');
  return await readLimited(join(root, file), root, MAX_FILE_BYTES);
}
