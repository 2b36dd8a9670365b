import type { Assessment } from './assessment.js';
import { MOST_CAPABILITY_KEYS, withContainers } from './capability.js';
import type { Listing } from './listing.js';
import { compareRank } from './ordered.list.js';
import { Posting } from './posting.js';
import { TrigramIndex } from './trigram.index.js';

/** Everyone is listed here, for queries that name no capability. No capability has an empty name. */
const EVERYONE = '';

/**
 * The inverted index: capability → who answers it. An agent stands under each of its claims and under all that contain them,
 * so a query looks up what it asks for and never scans the fleet.
 */
export class CapabilityIndex {
  private readonly postings = new Map<string, Posting>([[EVERYONE, new Posting(EVERYONE)]]);

  /** Made when someone first asks for what is spelled alike, then kept. */
  private spellings: TrigramIndex | undefined;

  find(capability: string): Posting | undefined {
    return this.postings.get(capability);
  }

  everyone(): Posting {
    return this.posting(EVERYONE);
  }

  /** The capabilities that are claimed and spelled most like this one, best first. */
  similarTo(asked: string, most?: number): string[] {
    this.spellings ??= new TrigramIndex(this.vocabulary());
    return this.spellings.mostSimilar(asked, most);
  }

  add(listing: Listing): void {
    const postings = keysOf(listing.claims).map((key) => this.posting(key));
    listing.keys = postings.map(({ capability }) => capability); // one text for all agents, not one for each
    for (const posting of postings) {
      posting.members.add(listing);
      for (const order of posting.orders()) order.noteMove(listing, undefined);
    }
  }

  remove(listing: Listing): void {
    const before = listing.assessment.routable ? listing.assessment : undefined;
    for (const key of listing.keys) {
      const posting = this.posting(key);
      posting.members.delete(listing);
      for (const order of posting.orders()) order.noteMove(listing, before);
      if (posting.members.size > 0 || key === EVERYONE) continue;
      posting.forgetOrders();
      this.postings.delete(key);
      this.spellings?.remove(key);
    }
  }

  /** Gives an agent whose claims are the same a new assessment, and moves it only where its rank is another. */
  reassess(listing: Listing, next: Assessment): void {
    const before = listing.assessment;
    const wasIn = before.routable ? before : undefined;
    for (const key of listing.keys) {
      for (const order of this.posting(key).orders()) {
        const stays = wasIn && next.routable && compareRank(order.strategy, before, next) === 0;
        if (!stays) order.noteMove(listing, wasIn);
        if (listing.seen) order.invalidate();
      }
    }
    listing.assessment = next;
    listing.seen = false;
  }

  /** What was shown of the agent is no longer so; its rank is. */
  touch(listing: Listing): void {
    if (!listing.seen) return;
    for (const key of listing.keys) for (const order of this.posting(key).orders()) order.invalidate();
    listing.seen = false;
  }

  private posting(key: string): Posting {
    let posting = this.postings.get(key);
    if (!posting) {
      posting = new Posting(key);
      this.postings.set(key, posting);
      this.spellings?.add(key);
    }
    return posting;
  }

  private *vocabulary(): Iterable<string> {
    for (const capability of this.postings.keys()) if (capability !== EVERYONE) yield capability;
  }
}

/**
 * Registrations beyond the limit are rejected. An agent that registered before there was one, or whose claims an alias
 * made deeper, stays findable by its claims, and by those that contain them as far as the limit goes.
 */
function keysOf(claims: readonly string[]): string[] {
  const keys = new Set([...claims, ...claims.flatMap(withContainers)]);
  return [EVERYONE, ...[...keys].slice(0, MOST_CAPABILITY_KEYS)];
}
