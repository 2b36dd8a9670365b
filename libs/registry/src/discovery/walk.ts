import type { Listing } from './listing.js';
import { compareIds, compareRank, type OrderedList, type Place } from './ordered.list.js';

/** Iterates over agents in the order of one strategy, so that a query reads only as many as it needs. */
export interface Walk {
  next(): Listing | undefined;
}

/** Iterates over one order, best first. */
class ListWalk implements Walk {
  private readonly place: Place = { chunk: 0, offset: 0 };

  constructor(private readonly order: OrderedList) {}

  next(): Listing | undefined {
    const listing = this.order.at(this.place);
    if (listing) this.order.step(this.place);
    return listing;
  }
}

interface Section {
  from: Place;
  /** The first listing after the section. */
  to: Listing | undefined;
}

/** Like ListWalk, but among agents of equal rank it starts with the agent after `pivot` and returns `pivot` last. */
class RotatedWalk implements Walk {
  private sections: Section[] = [];
  private groupEnd: Place = { chunk: 0, offset: 0 };

  constructor(
    private readonly order: OrderedList,
    private readonly pivot: string,
  ) {
    this.enterGroup();
  }

  next(): Listing | undefined {
    while (this.sections.length > 0) {
      const [{ from, to }] = this.sections;
      const listing = this.order.at(from);
      if (listing && listing !== to) {
        this.order.step(from);
        return listing;
      }
      this.sections.shift();
      if (this.sections.length === 0) this.enterGroup();
    }
    return undefined;
  }

  /** Splits the next group of equal rank into two sections: after the pivot, then up to it. */
  private enterGroup(): void {
    const begin = this.groupEnd;
    const head = this.order.at(begin)?.assessment;
    if (!head) return;
    const rank = (item: Listing): number => compareRank(this.order.strategy, item.assessment, head);
    const first = this.order.seek((item) => rank(item) > 0 || (rank(item) === 0 && item.agentId > this.pivot));
    this.groupEnd = this.order.seek((item) => rank(item) > 0);
    this.sections = [
      { from: { ...first }, to: this.order.at(this.groupEnd) },
      { from: begin, to: this.order.at(first) },
    ];
  }
}

/** Merges several walks with the same order; returns each agent once. */
class MergeWalk implements Walk {
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
    if (best) this.advance(best);
    return best;
  }

  /** Advances every walk that is at this listing. */
  private advance(listing: Listing): void {
    for (const [at, head] of this.heads.entries()) {
      if (head === listing) this.heads[at] = this.walks[at].next();
    }
  }
}

/** Returns one walk through several orders of the same strategy. */
export function walkThrough(orders: readonly OrderedList[], pivot: string | undefined): Walk {
  for (const order of orders) order.settle();
  const walks = orders.map((order) => (pivot === undefined ? new ListWalk(order) : new RotatedWalk(order, pivot)));
  if (walks.length === 1) return walks[0];
  return new MergeWalk(walks, (one, other) => compareRotated(orders[0], one, other, pivot));
}

/** The order within a RotatedWalk: among agents of equal rank, agents after the pivot go first. */
function compareRotated(order: OrderedList, one: Listing, other: Listing, pivot: string | undefined): number {
  const rank = compareRank(order.strategy, one.assessment, other.assessment);
  if (rank !== 0) return rank;
  const isUpToPivot = (listing: Listing): number => (pivot !== undefined && listing.agentId <= pivot ? 1 : 0);
  return isUpToPivot(one) - isUpToPivot(other) || compareIds(one.agentId, other.agentId);
}
