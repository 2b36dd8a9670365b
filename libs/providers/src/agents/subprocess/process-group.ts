import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const TERMINATE_TIMEOUT_MS = 300;
const DRAIN_MS = 500;
const STDERR_LENGTH = 500;
/** Error codes that mean that no process is left, or that the remaining processes belong to another user. */
const IGNORED_CODES = new Set(['ESRCH', 'EPERM']);

/**
 * A child process that was started `detached`, with all processes that it has started. They end together: when the
 * child process ends, for whatever reason, the other processes of its group are killed.
 */
export class ProcessGroup {
  /** Resolves with a description of the exit when the child process has ended. */
  readonly exited: Promise<string>;
  /** The end of what the processes have written to standard error. It is for the log only, because it may contain anything. */
  stderr = '';
  private stopping?: Promise<void>;
  /** When true, the pid may belong to another process. */
  private hasExited = false;
  private readonly pid: number;

  constructor(private readonly child: ChildProcess) {
    if (!child.pid) throw new Error('the program has no process id'); // a signal to the process group -0 would reach Rollcall itself
    this.pid = child.pid;
    child.on('error', () => undefined); // a signal may come after the exit, which `exited` reports
    child.stdin?.on('error', () => undefined); // a write may come after the exit, which `exited` reports
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_LENGTH);
    });
    this.exited = this.watch();
  }

  /** Sends SIGTERM, and SIGKILL if the process does not end in time. */
  async stop(): Promise<void> {
    this.stopping ??= this.end();
    await this.stopping;
  }

  async exitsWithin(ms: number): Promise<boolean> {
    const timer = new AbortController();
    const timeout = delay(ms, false, { signal: timer.signal });
    const hasEnded = await Promise.race([this.exited.then(() => true), timeout]);
    timer.abort();
    timeout.catch(() => undefined); // aborted
    return hasEnded;
  }

  private async end(): Promise<void> {
    this.child.stdin?.end();
    this.signal('SIGTERM');
    if (!(await this.exitsWithin(TERMINATE_TIMEOUT_MS))) this.signal('SIGKILL');
    await this.exited;
  }

  private async watch(): Promise<string> {
    const closed = once(this.child, 'close');
    const [code, killedBy] = (await once(this.child, 'exit')) as [number | null, string | null];
    this.signal('SIGKILL'); // ends the processes that the child has started
    this.hasExited = true;
    const timer = setTimeout(() => this.closePipes(), DRAIN_MS); // a process that left the group may hold the pipes open
    await closed;
    clearTimeout(timer);
    return killedBy ? `was killed by ${killedBy}` : `ended with code ${code}`;
  }

  private closePipes(): void {
    for (const pipe of [this.child.stdin, this.child.stdout, this.child.stderr]) pipe?.destroy();
  }

  private signal(name: NodeJS.Signals): void {
    if (this.hasExited) return;
    try {
      process.kill(-this.pid, name);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!IGNORED_CODES.has(code)) throw error;
    }
  }
}
