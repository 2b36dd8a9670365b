export interface GateOptions {
  /** How many run at the same time. */
  most: number;
  /** Whether this error will also meet the work that waits, which then fails at once. */
  failsAll(error: unknown): boolean;
  /** The error for work that would wait too long. */
  busy(): Error;
  /** In milliseconds. */
  now?(): number;
}

interface Waiting {
  enter(): void;
  fail(error: unknown): void;
}

/**
 * Limits how many pieces of work run at the same time; the others wait in their order of arrival. For work that keeps the event
 * loop busy for milliseconds: hundreds of them at once would delay every other request by seconds.
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

  /** Rejects with `busy` when the work would begin later than `patienceMs`: the caller can ask another replica. */
  async run<T>(work: () => Promise<T>, patienceMs = Infinity): Promise<T> {
    const since = this.now();
    if (this.running >= this.options.most) await this.turn();
    else this.running += 1;
    try {
      if (this.now() - since > patienceMs) throw this.options.busy();
      return await work();
    } catch (error) {
      if (this.options.failsAll(error)) this.fail(error);
      throw error;
    } finally {
      const next = this.queue.shift();
      if (next)
        setImmediate(() => next.enter()); // it takes this place after other pending work
      else this.running -= 1;
    }
  }

  private async turn(): Promise<void> {
    await new Promise<void>((enter, fail) => this.queue.push({ enter, fail }));
  }

  private fail(error: unknown): void {
    const { queue } = this;
    this.queue = [];
    for (const one of queue) one.fail(error);
  }
}
