/** A slower round trip does not adjust the clock, because it is unknown when the database read its time. */
const MAX_ROUND_TRIP_MS = 250;
/** After this long without an adjustment, a slow round trip is used too. */
const STALE_MS = 30_000;

/** A clock of the process that never goes back. */
type Monotonic = () => number;

/**
 * Estimates the time of the database without a query. Stored times, such as the end of a cool-down, are times of the database;
 * a replica with a wrong system clock would apply them early or late. So replicas do not use their system clock: they remember
 * the last time of the database and add the time that has passed since, by a monotonic clock.
 */
export class RegistryClock {
  private offset?: number;
  private setAt = -Infinity;

  constructor(private readonly monotonic: Monotonic = () => performance.now()) {}

  /** Returns 0 before the first synchronisation. */
  now(): number {
    return this.offset === undefined ? 0 : Math.floor(this.offset + this.monotonic());
  }

  /** Reads the time of the database, and assumes that the database read it in the middle of the round trip. */
  async synchronise(read: () => Promise<number>): Promise<number> {
    const before = this.monotonic();
    const time = await read();
    const after = this.monotonic();
    if (after - before <= MAX_ROUND_TRIP_MS || after - this.setAt > STALE_MS) {
      this.offset = time - (before + after) / 2;
      this.setAt = after;
    }
    return time;
  }
}
