import { execFile, spawn, type ChildProcess, type PromiseWithChild } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { DataFolder, DataFolderError } from './data-folder.js';
import { findBinaries, type Binaries } from './binaries.js';
import { serverEnvironment } from './server-environment.js';
import { adviceFor, giveTo, letPass, serverUser, type ServerUser } from './server-user.js';
import { makeSocketFolder } from './socket-folder.js';

export interface EmbeddedPostgresOptions {
  folder: string;
  /** Extra `name=value` server settings. */
  settings?: string[];
  /** Told when the server died unexpectedly and is being started again. */
  onRestart?: (reason: string) => void;
  /** How long `stop` asks politely before it insists. */
  stopWaitMs?: number;
}

const SUPERUSER = 'rollcall';
const DATABASE = 'rollcall';
const START_WAIT_MS = 20_000;
const STOP_WAIT_MS = 10_000;
const RESTART_PAUSE_MS = 500;

/**
 * Keeps the server in the company of its starter: when the pipe on standard input closes, because the starter closed
 * it or because it died, the server gets a fast shutdown. In a session of its own, so that Ctrl-C reaches the starter only.
 */
const WATCHDOG = `
exec 3<&0
"$@" </dev/null & server=$!
( read -r _ <&3; kill -INT "$server" 2>/dev/null ) & watch=$!
wait "$server"; code=$?
kill "$watch" 2>/dev/null
exit "$code"`;

/**
 * A real Postgres server in a folder, started and stopped with this process and listening on a private socket only.
 * It leaves no orphan behind, whatever way this process ends, and is started again should it die alone.
 */
export class EmbeddedPostgres {
  private server: ChildProcess;
  private stopping = false;
  private revival = Promise.resolve();

  private constructor(
    private readonly folder: DataFolder,
    private readonly binaries: Binaries,
    private readonly user: ServerUser,
    private readonly sockets: string,
    private readonly options: EmbeddedPostgresOptions,
  ) {}

  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const binaries = await findBinaries();
    const folder = new DataFolder(options.folder);
    folder.claim();
    let sockets: string | undefined;
    try {
      sockets = makeSocketFolder();
      const user = await serverUser();
      giveTo(user, sockets);
      letPass(user, folder.path);
      const postgres = new EmbeddedPostgres(folder, binaries, user, sockets, options);
      await folder.settleOldServer(STOP_WAIT_MS);
      if (!existsSync(folder.cluster)) await postgres.initialise();
      await postgres.launch();
      await postgres.createDatabase();
      return postgres;
    } catch (error) {
      if (sockets) rmSync(sockets, { recursive: true, force: true });
      folder.release();
      throw error;
    }
  }

  url(database = DATABASE): string {
    return `postgresql://${SUPERUSER}@localhost/${database}?host=${encodeURIComponent(this.sockets)}`;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.end();
    await this.revival;
    rmSync(this.sockets, { recursive: true, force: true });
    this.folder.release();
  }

  /** In a folder beside, then renamed: an interrupted first start leaves nothing that looks like a cluster. */
  private async initialise(): Promise<void> {
    const fresh = `${this.folder.cluster}.new`;
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh, { mode: 0o700 });
    giveTo(this.user, fresh);
    const flags = ['-U', SUPERUSER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-instructions', '-D', fresh];
    const [program = '', ...args] = [...this.user.prefix, this.binaries.initdb, ...flags];
    try {
      await endingWithUs(promisify(execFile)(program, args, this.processOptions()));
    } catch (error) {
      throw new DataFolderError(
        `Postgres could not be set up in ${this.folder.path}: ${tail(stderrOf(error))}${adviceFor(this.user)}`,
        {
          cause: error,
        },
      );
    }
    renameSync(fresh, this.folder.cluster);
  }

  private async launch(): Promise<void> {
    const log = openSync(this.folder.log, 'w', 0o600);
    this.server = spawn('sh', ['-c', WATCHDOG, 'sh', ...this.command()], {
      ...this.processOptions(),
      detached: true,
      stdio: ['pipe', log, log],
    });
    closeSync(log);
    this.server.unref();
    await this.untilReady();
    this.server.once('exit', (code) => {
      this.revival = this.revive(`exit code ${code}`);
    });
  }

  private processOptions(): { uid?: number; gid?: number; env: NodeJS.ProcessEnv } {
    return { uid: this.user.uid, gid: this.user.gid, env: serverEnvironment() };
  }

  private command(): string[] {
    const settings = ['listen_addresses=', 'max_connections=200', ...(this.options.settings ?? [])];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    return [...this.user.prefix, this.binaries.postgres, '-D', this.folder.cluster, '-k', this.sockets, ...flags];
  }

  private async untilReady(): Promise<void> {
    const started = performance.now();
    while (!(await this.answers())) {
      if (hasEnded(this.server) || performance.now() - started > START_WAIT_MS) {
        await this.end();
        const log = tail(readFileSync(this.folder.log, 'utf8'));
        throw new DataFolderError(`Postgres did not start on ${this.folder.cluster}: ${log}`);
      }
      await delay(25);
    }
  }

  private async answers(): Promise<boolean> {
    const client = new Client({ connectionString: this.url('postgres'), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined); // the server may close on us while it starts; the answer is then "no"
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false; // not yet
    }
  }

  private async createDatabase(): Promise<void> {
    const client = new Client({ connectionString: this.url('postgres') });
    await client.connect();
    try {
      const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
      if (found.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
    } finally {
      await client.end();
    }
  }

  /** The pool reconnects by itself, because the socket keeps its place. */
  private async revive(reason: string): Promise<void> {
    while (!this.stopping) {
      this.options.onRestart?.(reason);
      await delay(RESTART_PAUSE_MS);
      if (this.stopping) return;
      try {
        return await this.launch();
      } catch (error) {
        reason = String(error);
      }
    }
  }

  /** Asks, then insists, then kills: a frozen server hears neither of the first two. */
  private async end(): Promise<void> {
    const { pid } = this.server;
    if (hasEnded(this.server) || pid === undefined) return;
    const { stopWaitMs = STOP_WAIT_MS } = this.options;
    this.server.stdin?.end();
    if (await endsWithin(this.server, stopWaitMs)) return;
    signalGroup(pid, 'SIGQUIT');
    await groupGone(pid, stopWaitMs);
    signalGroup(pid, 'SIGKILL');
    await groupGone(pid, stopWaitMs);
  }
}

/** The timer also keeps this process alive meanwhile, which an unreferenced child does not. */
async function endsWithin(child: ChildProcess, waitMs: number): Promise<boolean> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), waitMs);
  await once(child, 'exit', { signal: late.signal }).catch(() => undefined);
  clearTimeout(timer);
  return hasEnded(child);
}

/** False when no process of the group is left. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function groupGone(leader: number, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (signalGroup(leader, 0) && performance.now() < deadline) await delay(25);
}

/** A child that must not work on when this process ends in the middle. */
async function endingWithUs(work: PromiseWithChild<unknown>): Promise<void> {
  const abandon = (): unknown => work.child.kill('SIGKILL');
  process.once('exit', abandon);
  try {
    await work;
  } finally {
    process.off('exit', abandon);
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function stderrOf(error: unknown): string {
  return (error as { stderr?: string }).stderr || String(error);
}

function tail(text: string): string {
  return text.trim().split('\n').slice(-4).join(' | ');
}
