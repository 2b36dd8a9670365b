import type { Listing } from './listing.js';
import { compareIds, compareRank, type OrderedList } from './ordered.list.js';

/** Reads agents in the order of one strategy, one at a time, so that a query pays only for what it looks at. */
export interface Walk {
  next(): Listing | undefined;
}

/** Best first through one order. */
export class ListWalk implements Walk {
  private place = 0;

  constructor(private readonly order: OrderedList) {}

  next(): Listing | undefined {
    const { items } = this.order;
    if (this.place >= items.length) {
      this.order.noteRead(Infinity);
      return undefined;
    }
    const listing = items[this.place];
    this.place += 1;
    this.order.noteRead(this.place);
    return listing;
  }
}

/** As ListWalk, but among equals it begins after `pivot` and comes round to it last. */
export class TurnWalk implements Walk {
  private start = 0;
  private end = 0;
  private first = 0;
  private given = 0;

  constructor(
    private readonly order: OrderedList,
    private readonly pivot: string,
  ) {}

  next(): Listing | undefined {
    if (this.given === this.end - this.start && !this.nextGroup()) return undefined;
    const size = this.end - this.start;
    const place = this.start + ((this.first - this.start + this.given) % size);
    this.given += 1;
    return this.order.items[place];
  }

  private nextGroup(): boolean {
    const { items, strategy } = this.order;
    if (this.end >= items.length) return false;
    this.start = this.end;
    const head = items[this.start].assessment;
    this.end = this.order.firstIndex((item) => compareRank(strategy, item.assessment, head) > 0, { start: this.start });
    const { start, end } = this;
    this.first = this.order.firstIndex((item) => item.agentId > this.pivot, { start, end });
    if (this.first >= this.end) this.first = this.start;
    this.given = 0;
    return true;
  }
}

/** Several walks as one, in the same order, each agent once. */
export class MergeWalk implements Walk {
  private readonly heads: (Listing | undefined)[];

  constructor(
    private readonly walks: readonly Walk[],
    private readonly compare: (one: Listing, other: Listing) => number,
  ) {
    this.heads = walks.map((walk) => walk.next());
  }

  next(): Listing | undefined {
    let best: Listing | undefined;
    for (const head of this.heads) {
      if (head && (!best || this.compare(head, best) < 0)) best = head;
    }
    if (best) this.pass(best);
    return best;
  }

  private pass(listing: Listing): void {
    for (const [at, head] of this.heads.entries()) {
      if (head === listing) this.heads[at] = this.walks[at].next();
    }
  }
}

/** One walk through all the orders, which are of one strategy. */
export function walkThrough(orders: readonly OrderedList[], pivot: string | undefined): Walk {
  const walks = orders.map((order) => (pivot === undefined ? new ListWalk(order) : new TurnWalk(order, pivot)));
  if (walks.length === 1) return walks[0];
  return new MergeWalk(walks, (one, other) => compareTurns(orders[0], one, other, pivot));
}

/** The order within a TurnWalk: among equals, those after the pivot go first. */
function compareTurns(order: OrderedList, one: Listing, other: Listing, pivot: string | undefined): number {
  const rank = compareRank(order.strategy, one.assessment, other.assessment);
  if (rank !== 0) return rank;
  const waits = (listing: Listing): number => (pivot !== undefined && listing.agentId <= pivot ? 1 : 0);
  return waits(one) - waits(other) || compareIds(one.agentId, other.agentId);
}
