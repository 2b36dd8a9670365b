/** This many consecutive round trips must contradict the verdict to change it. */
const CONSECUTIVE = 3;

export interface RoundTripVerdict {
  roundTripMs: number;
  limitMs: number;
  slow: boolean;
}

/**
 * Decides whether the connection to the database is slow. The verdict changes only after several consecutive round trips:
 * otherwise a single slow round trip could make a proxy remove the replica and add it again.
 */
export class RoundTrips {
  private slow = false;
  /** The number of consecutive round trips that contradict the verdict. */
  private contrary = 0;

  constructor(private readonly limitMs: number) {}

  record(roundTripMs: number): RoundTripVerdict {
    this.contrary = roundTripMs > this.limitMs === this.slow ? 0 : this.contrary + 1;
    if (this.contrary >= CONSECUTIVE) {
      this.slow = !this.slow;
      this.contrary = 0;
    }
    return { roundTripMs, limitMs: this.limitMs, slow: this.slow };
  }
}
