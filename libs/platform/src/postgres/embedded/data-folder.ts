import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** ENOENT: the parent exists, but the system allows no folder in it, as in /proc. */
const UNWRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOENT']);
const NO_SPACE = /No space left on device|ENOSPC/;
const Owner = z.object({ pid: z.number(), identity: z.string() });

/**
 * The folder of an embedded server. One process owns it at a time: `claim` throws while the owner runs, and takes over
 * the folder of a crashed owner. If two processes take it over at the same time, the lock of Postgres lets only one of
 * them start its server.
 */
export class DataFolder {
  readonly cluster: string;
  readonly log: string;
  private readonly lock: string;

  constructor(readonly path: string) {
    this.cluster = join(path, 'postgres');
    this.log = join(path, 'postgres.log');
    this.lock = join(path, 'owner.lock');
  }

  claim(): void {
    if (existsSync(this.path) && !statSync(this.path).isDirectory()) throw this.noFolder();
    try {
      makeFolder(this.path);
      this.removeStaleLock();
      this.writeLock();
    } catch (error) {
      throw this.explain(error);
    }
  }

  release(): void {
    rmSync(this.lock, { force: true });
  }

  /** Waits until the server of a crashed owner has stopped, and removes the lock file of a server that is not running. */
  async waitForOldServer(waitMs: number): Promise<void> {
    const file = join(this.cluster, 'postmaster.pid');
    const started = performance.now();
    for (;;) {
      if (!existsSync(file)) return;
      const pid = Number.parseInt(readFileSync(file, 'utf8'), 10);
      if (!Number.isInteger(pid) || !this.isOurServer(pid)) return rmSync(file, { force: true });
      if (performance.now() - started > waitMs) throw this.stillRunning(pid);
      await delay(50);
    }
  }

  setupFailed(reason: string, cause: unknown): DataFolderError {
    if (!NO_SPACE.test(reason))
      return new DataFolderError(`Postgres could not be set up in ${this.path}: ${reason}`, { cause });
    const advice = 'Free at least 200 MB, or choose a folder on another disk with ROLLCALL_DATA_DIR.';
    return new DataFolderError(`Postgres could not be set up in ${this.path}: the disk is full. ${advice}`, { cause });
  }

  private removeStaleLock(): void {
    if (!existsSync(this.lock)) return;
    const owner = Owner.safeParse(parseJson(readFileSync(this.lock, 'utf8')));
    if (owner.success && processIdentity(owner.data.pid) === owner.data.identity) throw this.inUse(owner.data.pid);
    rmSync(this.lock, { force: true });
  }

  private writeLock(): void {
    const file = openSync(this.lock, 'wx', 0o600);
    writeFileSync(file, JSON.stringify({ pid: process.pid, identity: processIdentity(process.pid) }));
    closeSync(file);
  }

  private isOurServer(pid: number): boolean {
    return isAlive(pid) && (commandOf(pid)?.includes(this.cluster) ?? true);
  }

  private noFolder(): DataFolderError {
    return new DataFolderError(
      `The data folder ${this.path} is a file. Move it, or choose a folder with ROLLCALL_DATA_DIR.`,
    );
  }

  private inUse(pid: number): DataFolderError {
    return new DataFolderError(
      `The data folder ${this.path} is in use by process ${pid}. Stop that process, or choose another folder ` +
        `with ROLLCALL_DATA_DIR. To run several replicas, set the same DATABASE_URL for all of them.`,
    );
  }

  private stillRunning(pid: number): DataFolderError {
    return new DataFolderError(
      `The Postgres server of an earlier start (process ${pid}) still runs on ${this.cluster}. Stop it with: kill -INT ${pid}`,
    );
  }

  private explain(error: unknown): unknown {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'EEXIST')
      return new DataFolderError(
        `Another process is starting with the data folder ${this.path}. Stop one of the two processes.`,
      );
    if (code !== undefined && UNWRITABLE.has(code)) {
      return new DataFolderError(
        `The data folder ${this.path} cannot be written (${code}). Make it writable, choose another folder with ` +
          `ROLLCALL_DATA_DIR, or use an external Postgres with DATABASE_URL.`,
      );
    }
    return error;
  }
}

/** Creates the missing folders one by one: where the system allows no folder, as in /proc, a recursive `mkdirSync` never ends. */
function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = path; !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) mkdirSync(folder, { mode: 0o700 });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a crash can truncate the lock file; it then names no owner
  }
}

/**
 * Returns the start time of a process, which distinguishes it from a later process with the same pid; undefined if the process
 * does not run.
 */
function processIdentity(pid: number): string | undefined {
  if (!isAlive(pid)) return undefined;
  return existsSync('/proc/self/stat') ? startTicks(pid) : startTime(pid);
}

/** Returns the command line of a process, or undefined where the system does not offer it. */
function commandOf(pid: number): string | undefined {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) ? readFileSync(file, 'utf8').replaceAll('\0', ' ') : undefined;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Reads field 22 of /proc/PID/stat. The second field may contain spaces and parentheses. */
function startTicks(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function startTime(pid: number): string {
  return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
}
