import type { Listing } from './listing.js';
import { Timeline } from './timeline.js';

/**
 * Finds the silent agents without reading the whole fleet. Each agent waits in a queue, in the order of the time at which it would
 * be silent. A heartbeat does not move it: when its time comes, an agent that has sent a heartbeat since then is queued again.
 */
export class SilenceWatch {
  private queue = new Timeline<Listing>();
  private readonly found = new Set<Listing>();

  /** `silentAfterMs`: how long after its last heartbeat an agent is silent. */
  constructor(private readonly silentAfterMs: number) {}

  add(listing: Listing): void {
    if (listing.isMarkedSuspect) this.found.add(listing);
    if (listing.isQueued) return;
    listing.isQueued = true;
    this.queue.add(listing.beatAt + this.silentAfterMs, listing);
  }

  /** Starts again with these agents, after the clock was set back. */
  reset(listings: Iterable<Listing>): void {
    this.queue = new Timeline();
    for (const listing of listings) {
      listing.isQueued = false;
      this.add(listing);
    }
  }

  /** The agents that are silent at `now`, or that Postgres has marked as suspect. Forgets agents for which `isListed` is false. */
  silentAt(now: number, isListed: (listing: Listing) => boolean): ReadonlySet<Listing> {
    const isSilent = ({ beatAt }: Listing): boolean => beatAt + this.silentAfterMs <= now;
    for (const listing of this.queue.takeAll(now)) {
      listing.isQueued = false;
      if (!isListed(listing)) continue;
      if (isSilent(listing)) this.found.add(listing);
      else this.add(listing);
    }
    for (const listing of this.found) {
      const listed = isListed(listing);
      if (listed && (listing.isMarkedSuspect || isSilent(listing))) continue;
      this.found.delete(listing);
      if (listed) this.add(listing);
    }
    return this.found;
  }
}
