/** So many in a row that are slow, or fast again, change the verdict. */
const IN_A_ROW = 3;

export interface RoundTripVerdict {
  roundTripMs: number;
  limitMs: number;
  slow: boolean;
}

/**
 * Judges round trips to the database. One slow round trip says nothing, and a verdict that changed with each of them would
 * make a gateway add and remove the replica all the time: it changes after several in a row.
 */
export class RoundTrips {
  private slow = false;
  /** How many in a row contradict the verdict. */
  private contrary = 0;

  constructor(private readonly limitMs: number) {}

  note(roundTripMs: number): RoundTripVerdict {
    this.contrary = roundTripMs > this.limitMs === this.slow ? 0 : this.contrary + 1;
    if (this.contrary >= IN_A_ROW) {
      this.slow = !this.slow;
      this.contrary = 0;
    }
    return { roundTripMs, limitMs: this.limitMs, slow: this.slow };
  }
}
