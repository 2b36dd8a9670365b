/** An answer that took longer says too little about when the clock was read … */
const PROMPT_MS = 250;
/** … unless there has been no better one for this long. */
const STALE_MS = 30_000;

/** Where the replica's own time comes from: it only ever goes forward, and nobody sets it. */
export type Monotonic = () => number;

/**
 * The database's time, as well as a replica can know it without asking. Everything that ends by time alone (a cool-down, a
 * probe, a damping) was written by the database's clock; a replica whose own clock is wrong would end it early or late. So
 * replicas read no clock of theirs: they remember what the database's said last, and count from there.
 */
export class RegistryClock {
  private offset?: number;
  private setAt = -Infinity;

  constructor(private readonly monotonic: Monotonic = () => performance.now()) {}

  /** Zero until the database was asked for the first time. */
  now(): number {
    return this.offset === undefined ? 0 : Math.floor(this.offset + this.monotonic());
  }

  /** Asks the database, and takes its answer for the middle of the time it took: off by half a round trip at the most. */
  async synchronise(read: () => Promise<number>): Promise<number> {
    const before = this.monotonic();
    const time = await read();
    const after = this.monotonic();
    if (after - before <= PROMPT_MS || after - this.setAt > STALE_MS) {
      this.offset = time - (before + after) / 2;
      this.setAt = after;
    }
    return time;
  }
}
