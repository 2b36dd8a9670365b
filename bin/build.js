/**
 * Compiles the sources into dist/ if they changed since the last build. It does not check types; `npm run check` does.
 * Several processes may run it at the same time.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole } from './build-console.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = ['apps', 'libs', 'bench'];
/** What the console is built from. */
const CONSOLE_SOURCES = ['apps/console', 'libs/client', 'bin/build-console.js', 'package-lock.json'];
/** A package of its own, with dependencies of its own. It is not compiled. */
const PEERS = join(ROOT, 'bench', 'peers');
const DIST = join(ROOT, 'dist');
const STAMP = join(DIST, '.stamp');
const LOCK = join(ROOT, '.build.lock');
const LOCK_MAX_AGE_MS = 60_000;

export function build() {
  if (isFresh()) return;
  lock();
  try {
    if (isFresh()) return; // another process has built dist/ while this one waited
    const stamp = fingerprint(); // taken before compiling, so that an edit during the build is noticed
    const fresh = `${DIST}.new`;
    rmSync(fresh, { recursive: true, force: true });
    const swc = join(ROOT, 'node_modules', '@swc', 'cli', 'bin', 'swc.js');
    const ignored = ['**/*.spec.ts', '**/bench/peers/**', '**/apps/console/**'].flatMap((glob) => ['--ignore', glob]);
    const flags = ['-d', fresh, ...ignored, '--config-file', '.swcrc', '--quiet'];
    execFileSync(process.execPath, [swc, ...SOURCES, ...flags], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    buildConsole({ root: ROOT, from: DIST, to: fresh, fingerprint: fingerprintOf(CONSOLE_SOURCES) });
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
  return fingerprintOf([...SOURCES, 'bin/build-console.js', '.swcrc', 'package.json']);
}

/** @param {string[]} tops */
function fingerprintOf(tops) {
  const hash = createHash('sha256');
  for (const top of tops) {
    for (const file of filesOf(join(ROOT, top))) {
      const { mtimeMs, size } = statSync(file);
      hash.update(`${file} ${mtimeMs} ${size}\n`);
    }
  }
  return hash.digest('hex');
}

function filesOf(path) {
  return statSync(path).isDirectory() ? walk(path) : [path];
}

function walk(folder) {
  if (folder === PEERS) return [];
  return readdirSync(folder, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? walk(join(folder, entry.name)) : [join(folder, entry.name)]));
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

/** The owner of the lock has ended, or the lock is so old that another process may have the same process id now. */
function isAbandoned() {
  const file = statSync(LOCK, { throwIfNoEntry: false });
  if (!file) return false; // the lock was just released
  return Date.now() - file.mtimeMs > LOCK_MAX_AGE_MS || hasEnded(lockOwner());
}

/** Returns 0 when the owner is unknown: the lock was just released, or the process id is not written yet. */
function lockOwner() {
  try {
    return Number(readFileSync(LOCK, 'utf8'));
  } catch {
    return 0; // the file does not exist
  }
}

function hasEnded(pid) {
  if (!(pid > 0)) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build();
