import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { linesOf } from '../wire/lines.js';

export interface Program {
  /** An absolute path, or a name to be found in the PATH of `env`. */
  command: string;
  args?: string[];
  cwd?: string;
  /** All of its environment: nothing of ours is passed on, since ours holds keys. */
  env?: Record<string, string>;
}

const POLITE_MS = 300;
const DRAIN_MS = 500;
const STDERR_KEPT = 500;

/**
 * A running program that reads and writes lines. It leads a process group of its own, so that everything it starts ends
 * with it: asked first, then killed. Should we die ourselves, its standard input closes, and a good program stops.
 */
export class ProgramProcess {
  /** Settles when the program is gone, with how it ended. */
  readonly gone: Promise<string>;
  private stderr = '';
  private stopping?: Promise<void>;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    readonly pid: number,
  ) {
    child.on('error', () => undefined); // a signal that came too late; `gone` tells
    child.stdin.on('error', () => undefined); // a line for a program that is gone; `gone` tells
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_KEPT);
    });
    this.gone = this.watch();
  }

  /** Throws when the program cannot be started. */
  static async start({ command, args = [], cwd, env = {} }: Program): Promise<ProgramProcess> {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: 'pipe' });
    await once(child, 'spawn');
    if (!child.pid) throw new Error('the program has no process id');
    return new ProgramProcess(child, child.pid);
  }

  send(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Until the program closes its output. */
  async read(onLine: (line: string) => void): Promise<void> {
    for await (const line of linesOf(this.child.stdout)) onLine(line);
  }

  /** Ends the program and all it has started. */
  async stop(): Promise<void> {
    this.stopping ??= this.end();
    await this.stopping;
  }

  async isGoneWithin(ms: number): Promise<boolean> {
    const timer = new AbortController();
    const late = delay(ms, false, { signal: timer.signal });
    const isGone = await Promise.race([this.gone.then(() => true), late]);
    timer.abort();
    late.catch(() => undefined); // the wait was over
    return isGone;
  }

  private async end(): Promise<void> {
    this.child.stdin.end();
    this.signal('SIGTERM');
    if (!(await this.isGoneWithin(POLITE_MS))) this.signal('SIGKILL');
    await this.gone;
  }

  private async watch(): Promise<string> {
    const closed = once(this.child, 'close');
    const [code, killedBy] = (await once(this.child, 'exit')) as [number | null, string | null];
    this.signal('SIGKILL'); // what it started and left behind
    const timer = setTimeout(() => this.letGo(), DRAIN_MS); // something that left the group may hold the pipes
    await closed;
    clearTimeout(timer);
    const how = killedBy ? `was ended by ${killedBy}` : `ended with code ${code}`;
    return this.stderr.trim() === '' ? how : `${how}: ${this.stderr.trim()}`;
  }

  private letGo(): void {
    for (const pipe of [this.child.stdin, this.child.stdout, this.child.stderr]) pipe.destroy();
  }

  /** To the whole group. */
  private signal(name: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
