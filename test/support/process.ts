import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { until } from '#rollcall/test-support';
import type { ConstantChanges } from '../../apps/api/src/config/config.constants.js';
import { ConfigSchema } from '../../apps/api/src/config/config.schema.js';
import { listSettings } from '../../apps/api/src/config/setting.js';

const ROOT = resolve(import.meta.dirname, '../..');

/** An empty variable counts as not set, and overrides the value in the `.env` file of a developer. */
const NOT_SET = Object.fromEntries(listSettings(ConfigSchema).map(({ env }) => [env, '']));

export interface ProcessOptions {
  /** Such as `npm start`, in the root folder of the repository. Without it, the process runs in a new folder. */
  command?: string[];
  /** The contents of the new folder, by path. The settings of a developer have no effect in either folder. */
  files?: Record<string, string>;
  /** The folder in which the process runs, instead of a new one. */
  folder?: string;
  /** Constants of the application that the suite needs smaller or larger. */
  constants?: ConstantChanges;
}

/** Rollcall as a separate process, started as `npm start` starts it. */
export class RollcallProcess {
  output = '';
  private readonly child: ChildProcess;

  constructor(environment: Record<string, string>, { command, files = {}, folder, constants }: ProcessOptions = {}) {
    const { PATH = '', HOME = '', TMPDIR = '', NODE_COMPILE_CACHE = '' } = process.env;
    const start = constants ? ['test/support/replica.js', JSON.stringify(constants)] : ['bin/rollcall.js', 'start'];
    const [program = '', ...flags] = command ?? [process.execPath, join(ROOT, start[0] ?? ''), ...start.slice(1)];
    const empty = newFolder();
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(empty, path)), { recursive: true });
      writeFileSync(join(empty, path), text);
    }
    this.child = spawn(program, flags, {
      cwd: folder ?? (command ? ROOT : empty),
      env: {
        PATH,
        HOME,
        ...(TMPDIR && { TMPDIR }),
        ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }),
        ...NOT_SET,
        PORT: '0',
        ROLLCALL_CONFIG: '/dev/null',
        LOG_FORMAT: 'json',
        ROLLCALL_DATABASE_TIMEOUT: '5s', // a busy machine must not make a statement fail
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.once('close', () => rmSync(empty, { recursive: true, force: true }));
    this.child.stdout?.on('data', (chunk) => (this.output += String(chunk)));
    this.child.stderr?.on('data', (chunk) => (this.output += String(chunk)));
  }

  async ready(withinMs = 100_000): Promise<this> {
    await until(
      'the process is ready or has ended',
      () => this.started !== undefined || this.child.exitCode !== null,
      withinMs,
    );
    if (!this.started) throw new Error(`the process ended before it was ready:\n${this.output}`);
    return this;
  }

  /** Undefined until the process reports its start, in a log event or, with readable logs, in the text that it prints for people. */
  get started(): { url: string; adminKeyFile?: string } | undefined {
    const url = /^ {2}API {4}(\S+)$/m.exec(this.output)?.[1];
    if (url !== undefined) return { url };
    const line = this.output.split('\n').find((text) => text.includes('"event":"process.started"'));
    return line === undefined ? undefined : (JSON.parse(line) as { url: string; adminKeyFile?: string });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get url(): string {
    return this.started?.url ?? '';
  }

  /** Sends the signal and returns the exit code, or the signal that ended the process. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    const exit = this.exit();
    this.child.kill(signal);
    return await exit;
  }

  async exit(): Promise<number | string> {
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    return child.exitCode ?? child.signalCode ?? 'unknown';
  }
}

/** Creates a folder next to the data of the test Postgres, in memory where there is room. */
export function newFolder(): string {
  return mkdtempSync(join(process.env['TEST_FOLDER'] ?? tmpdir(), 'rollcall-process-'));
}

/** Returns the ids of the Postgres processes that use a data folder. */
export function serversOn(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).includes(`postgres\0-D\0${folder}`))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // the process ended in the meantime
  }
}
