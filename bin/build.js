/**
 * Compiles the sources into dist/ when they changed since the last time; half a second, or nothing at all.
 * Types are checked by `npm run check`, not here. Safe to run from several processes at once.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['apps', 'libs', 'bench'];
const DIST = join(ROOT, 'dist');
const STAMP = join(DIST, '.stamp');
const LOCK = join(ROOT, '.build.lock');
const LOCK_MAX_AGE_MS = 60_000;

export function build() {
  if (isFresh()) return;
  lock();
  try {
    if (isFresh()) return; // another process was faster
    const stamp = fingerprint(); // before compiling: an edit meanwhile must not count as built
    const fresh = `${DIST}.new`;
    rmSync(fresh, { recursive: true, force: true });
    const swc = join(ROOT, 'node_modules', '@swc', 'cli', 'bin', 'swc.js');
    const flags = ['-d', fresh, '--ignore', '**/*.spec.ts', '--config-file', '.swcrc', '--quiet'];
    execFileSync(process.execPath, [swc, ...SOURCES, ...flags], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    writeFileSync(join(fresh, '.stamp'), stamp);
    rmSync(DIST, { recursive: true, force: true });
    renameSync(fresh, DIST);
  } finally {
    rmSync(LOCK, { recursive: true, force: true });
  }
}

function isFresh() {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === fingerprint();
}

function fingerprint() {
  const hash = createHash('sha256');
  for (const top of [...SOURCES, '.swcrc', 'package.json']) {
    for (const file of walk(join(ROOT, top))) {
      const { mtimeMs, size } = statSync(file);
      hash.update(`${file} ${mtimeMs} ${size}\n`);
    }
  }
  return hash.digest('hex');
}

function walk(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .toSorted()
    .flatMap((name) => walk(join(path, name)));
}

function lock() {
  for (;;) {
    try {
      return writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      if (isAbandoned()) rmSync(LOCK, { recursive: true, force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
    }
  }
}

/** Its process is gone; or it is too old to be believed, should another process have got that number. */
function isAbandoned() {
  const found = statSync(LOCK, { throwIfNoEntry: false });
  if (!found) return false; // given back just now
  return Date.now() - found.mtimeMs > LOCK_MAX_AGE_MS || isGone(lockOwner());
}

/** 0 when it cannot be told: given back just now, or the number is not yet written. */
function lockOwner() {
  try {
    return Number(readFileSync(LOCK, 'utf8'));
  } catch {
    return 0;
  }
}

function isGone(pid) {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build();
