import type { RunContext } from '../loop/run.context.js';
import { DelegationRefusedError } from './delegation.errors.js';

interface Slots {
  active: number;
  /** Resolves when the last of the sequential delegations has ended. */
  tail: Promise<unknown>;
  waiting: number;
}

/** The delegations that each run has in progress. */
export class RunSlots {
  private readonly runs = new Map<string, Slots>();

  /** Executes the work if the run then has at most `maxWidth` delegations in progress. Refuses it otherwise. */
  async use<Value>(run: RunContext, count: number, work: () => Promise<Value>): Promise<Value> {
    const slots = this.slotsOf(run);
    if (slots.active + count > run.limits.maxWidth) {
      this.forget(run, slots);
      throw tooWide(run, count, slots.active);
    }
    slots.active += count;
    try {
      return await work();
    } finally {
      slots.active -= count;
      this.forget(run, slots);
    }
  }

  /** Executes the work after all work that this method has received earlier for the run. */
  async inOrder<Value>(run: RunContext, work: () => Promise<Value>): Promise<Value> {
    const slots = this.slotsOf(run);
    slots.waiting += 1;
    const result = slots.tail.then(work);
    slots.tail = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      slots.waiting -= 1;
      this.forget(run, slots);
    }
  }

  private slotsOf(run: RunContext): Slots {
    const key = keyOf(run);
    const known = this.runs.get(key);
    if (known) return known;
    const slots = { active: 0, tail: Promise.resolve(), waiting: 0 };
    this.runs.set(key, slots);
    return slots;
  }

  private forget(run: RunContext, { active, waiting }: Slots): void {
    if (active === 0 && waiting === 0) this.runs.delete(keyOf(run));
  }
}

function tooWide({ limits }: RunContext, count: number, active: number): DelegationRefusedError {
  const message = `At most ${limits.maxWidth} delegations may be in progress at a time; ${active} are in progress, and this call needs ${count}. Delegate fewer tasks at a time, and the rest when these have ended.`;
  return new DelegationRefusedError('width', message);
}

const keyOf = ({ namespace, runId }: RunContext): string => `${namespace}/${runId}`;
