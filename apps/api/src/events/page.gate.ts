/**
 * Lets only a few pieces of work run at the same time; the others wait in order. Reading a page of events keeps the event loop
 * busy for milliseconds, so hundreds at once would delay every other request by seconds.
 */
export class PageGate {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly limit: number) {}

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running >= this.limit) await new Promise<void>((enter) => this.waiting.push(enter));
    else this.running += 1;
    try {
      return await work();
    } finally {
      const next = this.waiting.shift();
      if (next) setImmediate(next); // other requests come first
      else this.running -= 1;
    }
  }
}
