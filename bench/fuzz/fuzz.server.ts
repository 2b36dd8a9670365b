import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const DIST = fileURLToPath(new URL('../../', import.meta.url));
const FLAGS = ['--max-semi-space-size=64', '--expose-gc', '--import', join(DIST, 'bench/fuzz/heap.probe.js')];
const HEAP_TIMEOUT_MS = 10_000;
const MAX_ERRORS = 500;

/** An MCP server over standard input and output, whose tools are pinned. */
const MCP_PROGRAM = join(DIST, '../libs/providers/src/testing/programs/fake-mcp.mjs');

/** No rate limit and no quota, so that requests reach the handlers. */
const SETTINGS = {
  ROLLCALL_QUOTAS:
    'contracts=0,kilobytesPerMinute=0,kilobytesPerMinuteOfNamespace=0,definitions=0,queuedRuns=0,queuedRunsOfNamespace=0',
  ROLLCALL_SKILLS_DIR: join(DIST, '../examples/skills'),
  ROLLCALL_SEALING_KEY: 'fa'.repeat(32),
  ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  ROLLCALL_CATALOG_LABEL: 'team=platform',
  ROLLCALL_CATALOG_PUBLISHER: 'fleet.example.com',
  ROLLCALL_PROGRAMS: JSON.stringify({
    fake: { command: process.execPath, args: [MCP_PROGRAM, 'modern'], user: 'same' },
  }),
  ROLLCALL_MCP_SERVERS: JSON.stringify({ fake: { program: 'fake' } }),
  PORT: '0',
  LOG_FORMAT: 'json',
  LOG_REQUESTS: 'none',
  ROLLCALL_CONFIG: '/dev/null',
  ROLLCALL_RATE_LIMIT: '0',
  ROLLCALL_PUBLIC_RATE_LIMIT: '0',
};

/** No self-preservation, so that silent agents are evicted. */
const PROGRAM = [join(DIST, '../test/support/replica.js'), JSON.stringify({ protection: { threshold: 1 } })];

/** A line of the server log with the level error or fatal. */
export interface LoggedError {
  event?: string;
  msg?: string;
  requestId?: string;
  err?: { type?: string; message?: string; stack?: string; code?: string };
}

/** Rollcall in a separate process, on an embedded Postgres in a temporary folder. */
export class FuzzServer {
  url = '';
  adminKey = '';
  /** How the process ended, if it was not stopped by `stop`. */
  exited?: string;
  readonly errors: LoggedError[] = [];
  private readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-fuzz-'));
  private readonly child: ChildProcess;
  private ending = false;
  private lastOutput = '';

  private constructor() {
    const { PATH = '', HOME = '', TMPDIR } = process.env;
    this.child = spawn(process.execPath, [...FLAGS, ...PROGRAM], {
      cwd: this.folder,
      env: {
        PATH,
        HOME,
        ...(TMPDIR && { TMPDIR }),
        ...SETTINGS,
        ROLLCALL_DATA_DIR: join(this.folder, 'data'),
        ROLLCALL_WORKSPACES: join(this.folder, 'workspaces'),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.child.once('exit', (code, signal) => {
      if (!this.ending) this.exited = `exit ${code ?? signal}: ${this.lastOutput.slice(-2_000)}`;
    });
    this.child.stderr?.on('data', (chunk) => (this.lastOutput = (this.lastOutput + String(chunk)).slice(-4_000)));
  }

  static async start(): Promise<FuzzServer> {
    const server = new FuzzServer();
    const { stdout } = server.child;
    if (!stdout) throw new Error('the server has no standard output to read from');
    const lines = createInterface({ input: stdout });
    const started = new Promise<void>((resolve) =>
      lines.on('line', (line) => {
        if (server.read(line)) resolve();
      }),
    );
    await Promise.race([started, once(server.child, 'exit')]);
    if (!server.url) throw new Error(`the server did not start: ${server.exited ?? ''}`);
    return server;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** Bytes in use after a garbage collection; undefined when the server does not respond in time. */
  async heap(): Promise<number | undefined> {
    if (this.exited !== undefined) return undefined;
    this.child.send('heap');
    const timer = new AbortController();
    const options = { signal: timer.signal };
    const answer = once(this.child, 'message', options).then(([{ heap }]) => (heap as number) ?? undefined);
    const bytes = await Promise.race([answer, delay(HEAP_TIMEOUT_MS, undefined, options)]);
    timer.abort();
    return bytes;
  }

  /** Returns the error that the server logged for the request, if any. */
  errorOf(requestId: string | undefined): string | undefined {
    const err = this.errors.findLast((line) => line.requestId === requestId && requestId !== undefined)?.err;
    return err && `${err.type}: ${err.message} ${err.stack?.split('\n').slice(1, 4).join(' ') ?? ''}`;
  }

  async stop(): Promise<void> {
    this.ending = true;
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exit = once(this.child, 'exit');
      this.child.kill('SIGTERM');
      await exit;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Returns true for the line that reports that the server is ready. */
  private read(line: string): boolean {
    if (line.includes('"event":"process.started"')) {
      const { url, adminKeyFile } = JSON.parse(line) as { url: string; adminKeyFile: string };
      this.adminKey = readFileSync(adminKeyFile, 'utf8').trim();
      this.url = url;
      return true;
    }
    if (!/"level":"(error|fatal)"/.test(line)) return false;
    this.errors.push(JSON.parse(line) as LoggedError);
    if (this.errors.length > MAX_ERRORS) this.errors.shift();
    return false;
  }
}
