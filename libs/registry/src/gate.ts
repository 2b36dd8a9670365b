export interface GateOptions {
  /** How many run at the same time. */
  most: number;
  /** Whether the failure of one is a failure of all that wait. */
  failsAll(error: unknown): boolean;
}

interface Waiting {
  enter(): void;
  fail(error: unknown): void;
}

/** Runs a few pieces of work at the same time, and the others in the order they came in. */
export class Gate {
  private running = 0;
  private queue: Waiting[] = [];

  constructor(private readonly options: GateOptions) {}

  get waiting(): number {
    return this.queue.length;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.running >= this.options.most) await this.turn();
    else this.running += 1;
    try {
      return await work();
    } catch (error) {
      if (this.options.failsAll(error)) this.fail(error);
      throw error;
    } finally {
      const next = this.queue.shift();
      if (next)
        next.enter(); // it takes over our place
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
