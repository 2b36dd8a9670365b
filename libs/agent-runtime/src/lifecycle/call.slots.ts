import { AgentBusyError } from './lifecycle.errors.js';

export interface SlotOptions {
  /** The name of the agent, for messages. */
  name: string;
  /** How many calls may be in progress at a time. Absent: no limit. */
  limit?: number;
  /** What happens to a call beyond the limit. */
  whenBusy?: 'queue' | 'reject';
}

/** The slots are closed: the instance of the agent accepts no more calls. */
export class SlotsClosed extends Error {}

/** Counts the calls of one agent, and limits how many are in progress at a time. Waiting calls start in the order of arrival. */
export class CallSlots {
  private inUse = 0;
  private isClosed = false;
  private waiting: { enter(): void; reject(error: Error): void }[] = [];
  private whenEmpty: (() => void)[] = [];

  constructor(private readonly options: SlotOptions) {}

  get active(): number {
    return this.inUse;
  }

  /** Returns the function that ends the call. With `waits`, a call beyond the limit waits even if `whenBusy` is `reject`. */
  async acquire(waits = false): Promise<() => void> {
    const { name, limit = Infinity, whenBusy = 'queue' } = this.options;
    if (this.isClosed) throw new SlotsClosed();
    if (this.inUse < limit) this.inUse += 1;
    else if (whenBusy === 'reject' && !waits) throw new AgentBusyError(name, limit);
    else await new Promise<void>((enter, reject) => this.waiting.push({ enter, reject }));
    let isReleased = false;
    return () => {
      if (!isReleased) this.release();
      isReleased = true;
    };
  }

  /** Rejects new and waiting calls with `SlotsClosed`. Calls in progress continue. */
  close(): void {
    this.isClosed = true;
    const { waiting } = this;
    this.waiting = [];
    for (const { reject } of waiting) reject(new SlotsClosed());
  }

  /** Resolves when no call is in progress. */
  async empty(): Promise<void> {
    if (this.inUse === 0) return;
    await new Promise<void>((resolve) => this.whenEmpty.push(resolve));
  }

  private release(): void {
    const next = this.waiting.shift();
    if (next) return next.enter();
    this.inUse -= 1;
    if (this.inUse > 0) return;
    const { whenEmpty } = this;
    this.whenEmpty = [];
    for (const resolve of whenEmpty) resolve();
  }
}
