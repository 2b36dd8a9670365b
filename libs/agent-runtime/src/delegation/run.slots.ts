import { Semaphore } from '#rollcall/platform';
import type { RunContext } from '../loop/run.context.js';
import { DelegationRefusedError } from './delegation.errors.js';

interface Slots {
  width: Semaphore;
  /** For sequential delegations. */
  order: Semaphore;
}

/** The delegations that each run has in progress. */
export class RunSlots {
  private readonly runs = new Map<string, Slots>();

  /** Executes the work if the run then has at most `maxWidth` delegations in progress. Refuses it otherwise. */
  async use<Value>(run: RunContext, count: number, work: () => Promise<Value>): Promise<Value> {
    const slots = this.slotsOf(run);
    const release = slots.width.tryAcquire(count);
    try {
      if (!release) throw tooWide(run, count, slots.width.inUse);
      return await work();
    } finally {
      release?.();
      this.forget(run, slots);
    }
  }

  /** Executes the work after all work that this method has received earlier for the run. */
  async inOrder<Value>(run: RunContext, work: () => Promise<Value>): Promise<Value> {
    const slots = this.slotsOf(run);
    try {
      return await slots.order.run(work);
    } finally {
      this.forget(run, slots);
    }
  }

  private slotsOf(run: RunContext): Slots {
    const key = keyOf(run);
    const known = this.runs.get(key);
    if (known) return known;
    const slots = { width: new Semaphore(run.limits.maxWidth), order: new Semaphore(1) };
    this.runs.set(key, slots);
    return slots;
  }

  private forget(run: RunContext, { width, order }: Slots): void {
    if (width.inUse === 0 && order.inUse === 0) this.runs.delete(keyOf(run));
  }
}

function tooWide({ limits }: RunContext, count: number, active: number): DelegationRefusedError {
  const message = `At most ${limits.maxWidth} delegations may be in progress at a time; ${active} are in progress, and this call needs ${count}. Delegate fewer tasks at a time, and the rest when these have ended.`;
  return new DelegationRefusedError('width', message);
}

const keyOf = ({ namespace, runId }: RunContext): string => `${namespace}/${runId}`;
