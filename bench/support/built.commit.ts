import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export interface BuiltCommit {
  /** Short hash and subject. */
  title: string;
  dist: string;
  remove(): void;
}

const ROOT = resolve(import.meta.dirname, '../../..');

function git(...parameters: string[]): string {
  return execFileSync('git', parameters, { cwd: ROOT, encoding: 'utf8' }).trim();
}

/** Whether the clone contains this commit. A clone with a limited depth does not contain older commits. */
export function hasCommit(ref: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${ref}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Hard links, because the build of the console rejects files outside of its tree. A symbolic link where they are not possible. */
function linkDependencies(folder: string): void {
  const from = join(ROOT, 'node_modules');
  try {
    execFileSync('cp', ['-al', from, folder], { stdio: 'pipe' });
  } catch {
    rmSync(join(folder, 'node_modules'), { recursive: true, force: true });
    symlinkSync(from, join(folder, 'node_modules'));
  }
}

/** Builds another commit of this repository in a temporary folder, with the dependencies that are installed here. */
export function buildCommit(ref: string): BuiltCommit {
  const parent = mkdtempSync(join(tmpdir(), 'rollcall-against-'));
  const folder = join(parent, 'tree');
  git('worktree', 'add', '--detach', '--quiet', folder, ref);
  linkDependencies(folder);
  execFileSync(process.execPath, ['bin/build.js'], { cwd: folder, stdio: 'inherit' });
  return {
    title: git('log', '-1', '--format=%h %s', ref),
    dist: join(folder, 'dist'),
    remove: () => {
      git('worktree', 'remove', '--force', folder);
      rmSync(parent, { recursive: true, force: true });
    },
  };
}
