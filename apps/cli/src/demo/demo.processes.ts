import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CommandError } from '../failure.js';

const STOP_WITHIN_MS = 15_000;
const CLOCK_STEP_MS = 10_000;
const V8_FLAGS = ['--max-semi-space-size=16'];
const DIST = new URL('../../../../', import.meta.url);
const SHOWN_OUTPUT = 600;

const program = (path: string): string => fileURLToPath(new URL(path, DIST));

/** A process of the demo. Its output goes to a file in the folder of the demo. */
export class DemoProcess {
  readonly child: ChildProcess;
  private errors = '';

  constructor(
    readonly name: string,
    folder: string,
    path: string,
    args: readonly string[],
    env: Record<string, string>,
  ) {
    const { PATH = '', HOME = '', TMPDIR = '' } = process.env;
    // detached: Ctrl-C must reach only the demo, which stops its processes in order
    this.child = spawn(process.execPath, [...V8_FLAGS, program(path), ...args], {
      cwd: folder,
      env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), NODE_COMPILE_CACHE: '', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    mkdirSync(join(folder, 'logs'), { recursive: true });
    const log = createWriteStream(join(folder, 'logs', `${name}.log`), { flags: 'a' });
    this.child.stderr?.on('data', (chunk) => (this.errors = `${this.errors}${String(chunk)}`.slice(-SHOWN_OUTPUT)));
    this.child.stdout?.pipe(log, { end: false });
    this.child.stderr?.pipe(log, { end: false });
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** The first line of its output that is JSON and has this field. */
  async reports(field: string): Promise<Record<string, unknown>> {
    const { stdout } = this.child;
    if (!stdout) throw new Error('the process has no output');
    for await (const line of createInterface({ input: stdout })) {
      const facts = parsed(line);
      if (facts && field in facts) return facts;
    }
    throw new CommandError('DEMO_FAILED', `${this.name} ended before it was ready: ${this.errors.trim()}`);
  }

  signal(name: NodeJS.Signals): void {
    if (!this.hasEnded) this.child.kill(name);
  }

  /** Stops it in order, or by force after a time limit. A stopped (SIGSTOP) process continues first. */
  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGCONT');
    this.child.stdin?.end();
    this.child.kill('SIGTERM');
    const force = setTimeout(() => this.child.kill('SIGKILL'), STOP_WITHIN_MS);
    await ended;
    clearTimeout(force);
  }

  async kill(): Promise<void> {
    if (this.hasEnded) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}

function parsed(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined; // a line of another kind
  }
}

/** The Postgres, the replicas and the agents of a demo. */
export class DemoFleet {
  private postgres: DemoProcess | undefined;
  private databaseUrl = '';
  private readonly replicas = new Map<string, DemoProcess>();
  readonly agents = new Map<string, DemoProcess>();

  constructor(
    readonly folder: string,
    private readonly adminKey: string,
  ) {}

  async startDatabase(): Promise<void> {
    const path = 'apps/api/src/boot/postgres.program.js';
    this.postgres = new DemoProcess('postgres', this.folder, path, [join(this.folder, 'data')], {});
    this.databaseUrl = String((await this.postgres.reports('url'))['url']);
  }

  /** Starts a replica on a free port, or on a certain one, and returns its address. */
  async startReplica(name: string, port = '0'): Promise<string> {
    const replica = new DemoProcess(name, this.folder, '../bin/rollcall.js', ['start'], {
      npm_lifecycle_event: 'start', // it also stops when the demo is killed
      PORT: port,
      DATABASE_URL: this.databaseUrl,
      ROLLCALL_ADMIN_KEY: this.adminKey,
      ROLLCALL_DATA_DIR: join(this.folder, 'data'),
      ROLLCALL_CONFIG: '/dev/null',
      ROLLCALL_HEARTBEAT_EVERY: '2s',
      ROLLCALL_RATE_LIMIT: '0',
      LOG_FORMAT: 'json',
    });
    this.replicas.set(name, replica);
    return String((await replica.reports('docs'))['url']);
  }

  /** Lets the sweep of the registry find that the clock of the database was set back, by moving the time of the last sweep forward. */
  async setClockBack(): Promise<void> {
    const { Client } = await import('pg');
    const database = new Client({ connectionString: this.databaseUrl });
    await database.connect();
    try {
      await database.query(
        `UPDATE registry_protection SET state = jsonb_set(state, '{lastSweepAt}', to_jsonb((state->>'lastSweepAt')::float8 + $1::float8))`,
        [CLOCK_STEP_MS],
      );
    } finally {
      await database.end();
    }
  }

  async killReplica(name: string): Promise<void> {
    await this.replicas.get(name)?.kill();
  }

  startAgent(name: string, env: Record<string, string>): void {
    this.agents.set(
      name,
      new DemoProcess(name, this.folder, 'apps/cli/src/demo/agent.program.js', [], { AGENT_ID: name, ...env }),
    );
  }

  /** Agents first, so that they leave; then the replicas; Postgres last. */
  async stop(): Promise<void> {
    await Promise.all([...this.agents.values()].map(async (agent) => await agent.stop()));
    await Promise.all([...this.replicas.values()].map(async (replica) => await replica.stop()));
    await this.postgres?.stop();
  }
}
