export interface GateOptions {
  /** How many run at the same time. */
  most: number;
  /** Whether the failure of one is a failure of all that wait. */
  failsAll(error: unknown): boolean;
  /** What a caller is told that would have to wait too long. */
  busy(): Error;
  /** In milliseconds. */
  now?(): number;
}

interface Waiting {
  enter(): void;
  fail(error: unknown): void;
}

/**
 * Runs a few pieces of work at the same time, and the others in the order they came in. For work that keeps the event loop
 * busy for milliseconds: hundreds of it at once would delay everything else by seconds.
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

  /** Refused when its turn comes later than `patienceMs`: whoever asked will have given up, or can ask another replica. */
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
        setImmediate(() => next.enter()); // it takes over our place, after what else is to be done
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
