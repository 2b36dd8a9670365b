import { Semaphore } from '#rollcall/platform';
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
  private readonly slots: Semaphore;
  private isClosed = false;

  constructor(private readonly options: SlotOptions) {
    this.slots = new Semaphore(options.limit);
  }

  get active(): number {
    return this.slots.inUse;
  }

  /** Returns the function that ends the call. With `waits`, a call beyond the limit waits even if `whenBusy` is `reject`. */
  async acquire(waits = false): Promise<() => void> {
    if (this.isClosed) throw new SlotsClosed();
    const release = this.slots.tryAcquire();
    if (release) return release;
    const { name, whenBusy = 'queue' } = this.options;
    if (whenBusy === 'reject' && !waits) throw new AgentBusyError(name, this.slots.limit);
    return await this.slots.acquire();
  }

  /** Rejects new and waiting calls with `SlotsClosed`. Calls in progress continue. */
  close(): void {
    this.isClosed = true;
    this.slots.rejectWaiting(new SlotsClosed());
  }

  /** Resolves when no call is in progress. */
  async empty(): Promise<void> {
    await this.slots.idle();
  }
}
