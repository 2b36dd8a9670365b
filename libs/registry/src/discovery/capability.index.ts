import type { Assessment } from './assessment.js';
import { withContainers } from './capability.js';
import type { Listing } from './listing.js';
import { compareRank, type OrderedList } from './ordered.list.js';
import { Posting } from './posting.js';

/** Everyone is listed here, for queries that name no capability. No capability has an empty name. */
const EVERYONE = '';

/**
 * The inverted index: capability → who answers it. An agent stands under each of its claims and under all that contain them,
 * so a query looks up what it asks for and never scans the fleet.
 */
export class CapabilityIndex {
  private readonly postings = new Map<string, Posting>([[EVERYONE, new Posting(EVERYONE)]]);

  find(capability: string): Posting | undefined {
    return this.postings.get(capability);
  }

  everyone(): Posting {
    return this.posting(EVERYONE);
  }

  *vocabulary(): Iterable<string> {
    for (const capability of this.postings.keys()) if (capability !== EVERYONE) yield capability;
  }

  add(listing: Listing): void {
    const postings = keysOf(listing.claims).map((key) => this.posting(key));
    listing.keys = postings.map(({ capability }) => capability); // one text for all agents, not one for each
    for (const posting of postings) {
      posting.members.add(listing);
      if (listing.assessment.routable) for (const order of posting.orders()) order.insert(listing);
    }
  }

  remove(listing: Listing): void {
    for (const key of listing.keys) {
      const posting = this.posting(key);
      posting.members.delete(listing);
      if (listing.assessment.routable) for (const order of posting.orders()) order.remove(listing);
      if (posting.members.size === 0 && key !== EVERYONE) this.drop(posting);
    }
  }

  /** Gives an unmoved agent a new assessment, and moves it only in the orders where its rank is another. */
  reassess(listing: Listing, next: Assessment): void {
    const before = listing.assessment;
    const stays = (order: OrderedList): boolean =>
      before.routable && next.routable && compareRank(order.strategy, before, next) === 0;
    const touched = [...this.ordersOf(listing)].filter((order) => listing.seen || !stays(order));
    const moved = touched.filter((order) => !stays(order));
    if (before.routable) for (const order of moved) order.remove(listing);
    listing.assessment = next;
    if (next.routable) for (const order of moved) order.insert(listing);
    if (listing.seen) for (const order of touched) order.invalidate();
    listing.seen = false;
  }

  private *ordersOf(listing: Listing): Iterable<OrderedList> {
    for (const key of listing.keys) yield* this.posting(key).orders();
  }

  private posting(key: string): Posting {
    let posting = this.postings.get(key);
    if (!posting) {
      posting = new Posting(key);
      this.postings.set(key, posting);
    }
    return posting;
  }

  /** Its orders are read no more; answers that depended on them must not outlive them. */
  private drop(posting: Posting): void {
    for (const order of posting.orders()) order.invalidate();
    this.postings.delete(posting.capability);
  }
}

function keysOf(claims: readonly string[]): string[] {
  return [...new Set([EVERYONE, ...claims.flatMap(withContainers)])];
}
