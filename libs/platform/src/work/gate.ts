export interface GateOptions {
  /** How many pieces of work run at the same time. */
  limit: number;
  /** Whether waiting work would fail with the same error. If so, all waiting work fails immediately. */
  failsAll(error: unknown): boolean;
  /** Creates the error for work that has waited too long. */
  busy(): Error;
  /** Returns the time in milliseconds. */
  now?(): number;
}

interface Waiting {
  enter(): void;
  fail(error: unknown): void;
}

/**
 * Limits how many pieces of work run at the same time. Other work waits in the order of arrival. The gate is meant for
 * work that blocks the event loop for milliseconds: hundreds of such calls at the same time would delay every other request by
 * seconds.
 */
export class Gate {
  private running = 0;
  private queue: Waiting[] = [];
  private readonly now: () => number;

  constructor(private readonly options: GateOptions) {
    this.now = options.now ?? (() => performance.now());
  }

  get waiting(): number {
    return this.queue.length;
  }

  /** Rejects with `busy` if the work has waited longer than `maxWaitMs`. The caller can then try another replica. */
  async run<T>(work: () => Promise<T>, maxWaitMs = Infinity): Promise<T> {
    const since = this.now();
    if (this.running >= this.options.limit) await this.enqueue();
    else this.running += 1;
    try {
      if (this.now() - since > maxWaitMs) throw this.options.busy();
      return await work();
    } catch (error) {
      if (this.options.failsAll(error)) this.fail(error);
      throw error;
    } finally {
      const next = this.queue.shift();
      if (next)
        setImmediate(() => next.enter()); // other pending work of the event loop runs first
      else this.running -= 1;
    }
  }

  private async enqueue(): Promise<void> {
    await new Promise<void>((enter, fail) => this.queue.push({ enter, fail }));
  }

  private fail(error: unknown): void {
    const { queue } = this;
    this.queue = [];
    for (const one of queue) one.fail(error);
  }
}
