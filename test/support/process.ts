import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { until } from '#rollcall/registry/testing';

const ROOT = resolve(import.meta.dirname, '../..');

/** Rollcall as a process of its own, started the way `npm start` does. */
export class RollcallProcess {
  output = '';
  private readonly child: ChildProcess;

  /** With `command` it can be started through npm itself. */
  constructor(environment: Record<string, string>, command = [process.execPath, 'bin/rollcall.js']) {
    const { PATH = '', HOME = '', TMPDIR = '' } = process.env;
    const [program = '', ...flags] = command;
    this.child = spawn(program, flags, {
      cwd: ROOT,
      env: {
        PATH,
        HOME,
        ...(TMPDIR && { TMPDIR }),
        PORT: '0',
        ROLLCALL_CONFIG: '',
        LOG_FORMAT: 'json',
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => (this.output += String(chunk)));
    this.child.stderr?.on('data', (chunk) => (this.output += String(chunk)));
  }

  async ready(): Promise<this> {
    await until(
      'the process is ready or gone',
      () => this.started !== undefined || this.child.exitCode !== null,
      20_000,
    );
    if (!this.started) throw new Error(`the process ended instead of starting:\n${this.output}`);
    return this;
  }

  /** The event every start logs. */
  get started(): { url: string; adminKeyFile?: string } | undefined {
    const line = this.output.split('\n').find((text) => text.includes('"event":"process.started"'));
    return line === undefined ? undefined : (JSON.parse(line) as { url: string; adminKeyFile?: string });
  }

  get url(): string {
    return this.started?.url ?? '';
  }

  /** Sends the signal and answers the exit code, or the signal that ended it. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    const over = this.exit();
    this.child.kill(signal);
    return await over;
  }

  async exit(): Promise<number | string> {
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    return child.exitCode ?? child.signalCode ?? 'unknown';
  }
}

export function newFolder(): string {
  return mkdtempSync(join(tmpdir(), 'rollcall-process-'));
}

/** The Postgres processes that work on a folder. */
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
    return ''; // it ended while we looked
  }
}
