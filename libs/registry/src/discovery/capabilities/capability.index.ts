import type { Listing } from '../directory/listing.js';
import type { Assessment } from '../ranking/assessment.js';
import type { SelectionStrategy } from '../ranking/strategies.js';
import { TrigramIndex } from './trigram.index.js';
import { MAX_CAPABILITY_KEYS, withAncestors } from './capability.js';
import { compareRank, OrderedList } from './ordered.list.js';

/** The agents that match one capability, and their orders by strategy. The first query with a strategy creates its order. */
export class CapabilityBucket {
  /** Includes agents that are not routable at the moment. */
  readonly members = new Set<Listing>();
  private readonly byStrategy = new Map<string, OrderedList>();

  constructor(readonly capability: string) {}

  order(strategy: SelectionStrategy): OrderedList {
    let order = this.byStrategy.get(strategy.name);
    if (!order) {
      order = new OrderedList(strategy, this.members);
      this.byStrategy.set(strategy.name, order);
    }
    return order;
  }

  /** The orders that exist so far. */
  orders(): Iterable<OrderedList> {
    return this.byStrategy.values();
  }
}

/** The key of the bucket with all agents, for queries that name no capability. No capability has an empty name. */
const ALL_AGENTS = '';

/**
 * The inverted index from capability to agents. An agent is listed under each of its capabilities and all their ancestors, so a query
 * looks up the capabilities it names and never scans the fleet.
 */
export class CapabilityIndex {
  private readonly buckets = new Map<string, CapabilityBucket>([[ALL_AGENTS, new CapabilityBucket(ALL_AGENTS)]]);

  /** The first fuzzy query builds it; later changes update it. */
  private spellings: TrigramIndex | undefined;

  get isEmpty(): boolean {
    return this.allAgents().members.size === 0;
  }

  find(capability: string): CapabilityBucket | undefined {
    return this.buckets.get(capability);
  }

  allAgents(): CapabilityBucket {
    return this.bucket(ALL_AGENTS);
  }

  /** The declared capabilities with the most similar spelling, best first. */
  similarTo(requested: string, most?: number): string[] {
    this.spellings ??= new TrigramIndex(this.vocabulary());
    return this.spellings.mostSimilar(requested, most);
  }

  add(listing: Listing): void {
    const buckets = keysOf(listing.capabilities).map((key) => this.bucket(key));
    listing.keys = buckets.map(({ capability }) => capability); // all agents share one string per capability
    for (const bucket of buckets) {
      bucket.members.add(listing);
      for (const order of bucket.orders()) order.noteMove(listing, undefined);
    }
  }

  remove(listing: Listing): void {
    const before = listing.assessment.routable ? listing.assessment : undefined;
    for (const key of listing.keys) {
      const bucket = this.bucket(key);
      bucket.members.delete(listing);
      for (const order of bucket.orders()) order.noteMove(listing, before);
      if (bucket.members.size > 0 || key === ALL_AGENTS) continue;
      this.buckets.delete(key);
      this.spellings?.remove(key);
    }
  }

  /** Replaces the assessment of an agent with unchanged capabilities, and moves it in the orders where its rank changed. */
  reassess(listing: Listing, next: Assessment): void {
    const before = listing.assessment;
    const wasIn = before.routable ? before : undefined;
    for (const key of listing.keys) {
      for (const order of this.bucket(key).orders()) {
        const stays = wasIn && next.routable && compareRank(order.strategy, before, next) === 0;
        if (!stays) order.noteMove(listing, wasIn);
      }
    }
    listing.reassess(next);
  }

  private bucket(key: string): CapabilityBucket {
    let bucket = this.buckets.get(key);
    if (!bucket) {
      bucket = new CapabilityBucket(key);
      this.buckets.set(key, bucket);
      this.spellings?.add(key);
    }
    return bucket;
  }

  private *vocabulary(): Iterable<string> {
    for (const capability of this.buckets.keys()) if (capability !== ALL_AGENTS) yield capability;
  }
}

/**
 * Registrations beyond the limit are rejected. An agent may still exceed it, if it registered before the limit existed or if an
 * alias made its capabilities deeper. Such an agent is found by its capabilities, and by their ancestors up to the limit.
 */
function keysOf(capabilities: readonly string[]): string[] {
  const keys = new Set([...capabilities, ...capabilities.flatMap(withAncestors)]);
  return [ALL_AGENTS, ...[...keys].slice(0, MAX_CAPABILITY_KEYS)];
}
