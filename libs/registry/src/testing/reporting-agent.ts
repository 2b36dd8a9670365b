/** What an agent had used when it measured a total: by call, and outside of calls. */
interface Measurement {
  calls: readonly number[];
  outside: number;
}

interface Call {
  used: number;
  state: 'open' | 'settled' | 'released';
  /** How many of its tokens a report contained. */
  reported: number;
}

/** A reference model that knows every token of an agent, and which reports and settlements contain it. */
export class ReportingAgent {
  readonly calls: Call[] = [];
  readonly measurements: Measurement[] = [];
  /** The highest total that was delivered. */
  highestReport = 0;
  private outside = 0;
  private outsideReported = 0;

  begin(): number {
    return this.calls.push({ used: 0, state: 'open', reported: 0 }) - 1;
  }

  /** Uses tokens in a call; outside of calls if the call is not open. */
  use(call: number, tokens: number): void {
    const found = this.calls[call];
    if (found?.state === 'open') found.used += tokens;
    else this.outside += tokens;
  }

  end(call: number, state: 'settled' | 'released'): void {
    const found = this.calls[call];
    if (found) found.state = state;
  }

  measure(): void {
    this.measurements.push({ calls: this.calls.map(({ used }) => used), outside: this.outside });
  }

  /** Delivers a measurement, perhaps again or after a newer one, and returns its total. */
  deliver({ calls, outside }: Measurement): number {
    calls.forEach((used, index) => {
      const call = this.calls[index];
      if (call) call.reported = Math.max(call.reported, used);
    });
    this.outsideReported = Math.max(this.outsideReported, outside);
    const total = sum(calls) + outside;
    this.highestReport = Math.max(this.highestReport, total);
    return total;
  }

  /** All tokens that are in a report or in a settlement, each counted once. */
  get known(): number {
    const known = this.calls.map(({ state, used, reported }) => (state === 'settled' ? used : reported));
    return sum(known) + this.outsideReported;
  }

  get total(): number {
    return sum(this.calls.map(({ used }) => used)) + this.outside;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
