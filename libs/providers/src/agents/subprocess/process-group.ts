import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

const POLITE_MS = 300;
const DRAIN_MS = 500;
const STDERR_KEPT = 500;
/** Nobody is left, or only those that have become another user. */
const OUT_OF_REACH = new Set(['ESRCH', 'EPERM']);

/**
 * A child process that was started `detached`, and everything it has started in turn. They end together: when the leader
 * goes, by itself or because it was told to, nothing of the group survives it.
 */
export class ProcessGroup {
  /** Settles when the leader is gone, with how it ended. */
  readonly gone: Promise<string>;
  private stderr = '';
  private stopping?: Promise<void>;
  /** From then on its number may belong to a stranger. */
  private over = false;
  private readonly pid: number;

  constructor(private readonly child: ChildProcess) {
    if (!child.pid) throw new Error('the program has no process id'); // and -0 would mean ourselves
    this.pid = child.pid;
    child.on('error', () => undefined); // a signal that came too late; `gone` tells
    child.stdin?.on('error', () => undefined); // a line for a program that is gone; `gone` tells
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr = (this.stderr + text).slice(-STDERR_KEPT);
    });
    this.gone = this.watch();
  }

  /** Asks first, then kills. */
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
    this.child.stdin?.end();
    this.signal('SIGTERM');
    if (!(await this.isGoneWithin(POLITE_MS))) this.signal('SIGKILL');
    await this.gone;
  }

  private async watch(): Promise<string> {
    const closed = once(this.child, 'close');
    const [code, killedBy] = (await once(this.child, 'exit')) as [number | null, string | null];
    this.signal('SIGKILL'); // what it started and left behind
    this.over = true;
    const timer = setTimeout(() => this.letGo(), DRAIN_MS); // something that left the group may hold the pipes
    await closed;
    clearTimeout(timer);
    const how = killedBy ? `was ended by ${killedBy}` : `ended with code ${code}`;
    return this.stderr.trim() === '' ? how : `${how}: ${this.stderr.trim()}`;
  }

  private letGo(): void {
    for (const pipe of [this.child.stdin, this.child.stdout, this.child.stderr]) pipe?.destroy();
  }

  private signal(name: NodeJS.Signals): void {
    if (this.over) return;
    try {
      process.kill(-this.pid, name);
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!OUT_OF_REACH.has(code)) throw error;
    }
  }
}
