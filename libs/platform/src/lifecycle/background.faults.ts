import { Injectable, Logger } from '@nestjs/common';

/** Logs failures of background work as `<part>_failed` and counts them. The work itself is tried again. */
@Injectable()
export class BackgroundFaults {
  private readonly log = new Logger('background');
  private readonly counts = new Map<string, number>();

  /** `part` is a dotted name such as `events.sequencer`. */
  report(part: string, error: unknown): void {
    this.counts.set(part, (this.counts.get(part) ?? 0) + 1);
    this.log.warn({ event: `${part}_failed`, err: error });
  }

  /** Failures since the start of the process, by part. */
  totals(): ReadonlyMap<string, number> {
    return this.counts;
  }
}
