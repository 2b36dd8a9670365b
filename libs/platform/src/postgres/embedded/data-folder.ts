import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { commandOf, isAlive, processIdentity } from './process-identity.js';

export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

const Owner = z.object({ pid: z.number(), identity: z.string() });

/**
 * The folder an embedded server lives in. One process owns it at a time: `claim` refuses while the owner lives, and
 * takes over what a crashed owner left. Should two processes take over the same crash at once, Postgres' own lock
 * still lets only one of them start its server.
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
      mkdirSync(this.path, { recursive: true, mode: 0o700 });
      this.removeStaleLock();
      this.writeLock();
    } catch (error) {
      throw this.explain(error);
    }
  }

  release(): void {
    rmSync(this.lock, { force: true });
  }

  /** A crashed owner's server needs a moment to notice and stop; a lock file without a server is removed. */
  async settleOldServer(waitMs: number): Promise<void> {
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
      `The data folder ${this.path} is a file. Move it away, or choose a folder with ROLLCALL_DATA_DIR.`,
    );
  }

  private inUse(pid: number): DataFolderError {
    return new DataFolderError(
      `The data folder ${this.path} is in use by process ${pid}. Stop that one, or give this one a folder of its own ` +
        `with ROLLCALL_DATA_DIR. To run several replicas, give all of them one DATABASE_URL.`,
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
      return new DataFolderError(`Another process is just starting on the data folder ${this.path}.`);
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || code === 'ENOTDIR') {
      return new DataFolderError(
        `The data folder ${this.path} cannot be written (${code}). Make it writable, choose another with ` +
          `ROLLCALL_DATA_DIR, or use an outside Postgres with DATABASE_URL.`,
      );
    }
    return error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // a lock cut short by a crash names no owner
  }
}
