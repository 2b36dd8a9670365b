import type { Assessment } from './assessment.js';
import type { Listing } from './listing.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

/** Standing, then the strategy. Zero for those who would take turns. */
export function compareRank(strategy: SelectionStrategy, one: Assessment, other: Assessment): number {
  return one.standing - other.standing || strategy.compare(one, other);
}

export function compareIds(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

/**
 * The routable agents of one posting in the order of one strategy, kept in order as agents change, so that the best k are
 * simply the first k. `version` changes when something changes that a ranking has looked at, and only then: what happens
 * beyond the deepest place ever read leaves remembered answers valid.
 */
export class OrderedList {
  readonly items: Listing[];
  version = 0;
  private readTo = 0;

  constructor(
    readonly strategy: SelectionStrategy,
    members: Iterable<Listing>,
  ) {
    this.items = [...members].filter(({ assessment }) => assessment.routable).toSorted((a, b) => this.compare(a, b));
  }

  compare(one: Listing, other: Listing): number {
    return compareRank(this.strategy, one.assessment, other.assessment) || compareIds(one.agentId, other.agentId);
  }

  insert(listing: Listing): void {
    const at = this.firstIndex((item) => this.compare(item, listing) >= 0);
    this.items.splice(at, 0, listing);
    this.changedAt(at);
  }

  /** To be called while the listing still has the assessment it was inserted with. */
  remove(listing: Listing): void {
    const at = this.firstIndex((item) => this.compare(item, listing) >= 0);
    if (this.items[at] !== listing) throw new Error(`The order of ${this.strategy.name} lost ${listing.agentId}.`);
    this.items.splice(at, 1);
    this.changedAt(at);
  }

  /** Something that was read has other content now, in the same place. */
  invalidate(): void {
    this.version += 1;
    this.readTo = 0;
  }

  /** A reader that got to the end passes Infinity: then even one more at the end matters. */
  noteRead(places: number): void {
    if (places > this.readTo) this.readTo = places;
  }

  /** The first index for which the condition holds, given that it holds for all after it; `end` when for none. */
  firstIndex(holds: (item: Listing) => boolean, { start = 0, end = this.items.length } = {}): number {
    let low = start;
    let high = end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (holds(this.items[middle])) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  private changedAt(index: number): void {
    if (index < this.readTo) this.invalidate();
  }
}
