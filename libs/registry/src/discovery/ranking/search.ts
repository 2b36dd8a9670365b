import type { CapabilityBucket, CapabilityIndex } from '../capabilities/capability.index.js';
import { compareIds, compareRank, type OrderedList, type Place } from '../capabilities/ordered.list.js';
import type { Listing } from '../directory/listing.js';
import { acceptedByAll } from './filters.js';
import type { QueryPlan } from './query.plan.js';

/** An agent that matches a query, by its exact capabilities or by similarly spelled ones. */
export interface Match {
  listing: Listing;
  fuzzy: boolean;
}

/** A requested capability and its bucket; with `fuzzy`, the buckets of similarly spelled capabilities. */
interface Term {
  requested: string;
  buckets: readonly CapabilityBucket[];
  exact: boolean;
}

/** Selects the agents that are in at least one bucket of each group and in none of `without`. */
interface Pass {
  groups: readonly (readonly CapabilityBucket[])[];
  without: readonly CapabilityBucket[];
  fuzzy: boolean;
}

/**
 * Runs one plan against the index. It walks the smallest group in the strategy's order and checks the other groups, so it
 * reads only as many agents as it needs to fill the result. Exact matches come before matches by similarity.
 */
export class Search {
  /** Requested capabilities that no agent declares. */
  readonly unclaimed: readonly string[];
  private readonly all: readonly Term[];
  private readonly any: readonly Term[];
  private readonly passes: readonly Pass[];

  constructor(
    private readonly plan: QueryPlan,
    private readonly index: CapabilityIndex,
  ) {
    this.all = plan.all.map((requested) => this.term(requested));
    this.any = plan.any.map((requested) => this.term(requested));
    this.unclaimed = [...this.all, ...this.any].filter(({ exact }) => !exact).map(({ requested }) => requested);
    this.passes = this.passesFor(this.all, this.any);
  }

  run(pivot: string | undefined): Match[] {
    const matches: Match[] = [];
    for (const pass of this.passes) if (matches.length < this.plan.limit) this.follow(pass, pivot, matches);
    return matches;
  }

  /** The agents that an explanation covers: the members of all groups, the smallest group first. */
  *nearby(): Iterable<Listing> {
    const seen = new Set<Listing>();
    for (const bucket of this.passes.flatMap(({ groups }) => groups.flat())) {
      for (const listing of bucket.members) {
        if (seen.has(listing)) continue;
        seen.add(listing);
        yield listing;
      }
    }
  }

  /** The requested capabilities that the agent lacks; the capabilities of `any` count as one. */
  missing(listing: Listing): string[] {
    const has = ({ buckets }: Term): boolean => buckets.some(({ members }) => members.has(listing));
    const missing = this.all.filter((term) => !has(term)).map(({ requested }) => requested);
    if (this.any.length > 0 && !this.any.some(has)) missing.push(this.plan.any.join(' or '));
    return missing;
  }

  /** The agents that have the requested capabilities, routable or not. */
  *capable(): Iterable<Listing> {
    for (const { groups, without } of this.passes) {
      const [smallest, ...others] = groups;
      for (const bucket of smallest) {
        for (const listing of bucket.members) if (isIn(listing, others, without)) yield listing;
      }
    }
  }

  private follow({ groups, without, fuzzy }: Pass, pivot: string | undefined, matches: Match[]): void {
    const { strategy, limit, filters } = this.plan;
    const [smallest, ...others] = groups;
    const orders = smallest.map((bucket) => bucket.order(strategy));
    const walk = walkThrough(orders, pivot);
    while (matches.length < limit) {
      const listing = walk.next();
      if (!listing) return;
      if (!isIn(listing, others, without)) continue;
      if (acceptedByAll(filters, listing.assessment)) matches.push({ listing, fuzzy });
    }
  }

  private term(requested: string): Term {
    const bucket = this.index.find(requested);
    if (bucket) return { requested, buckets: [bucket], exact: true };
    const similar = this.plan.fuzzy ? this.index.similarTo(requested) : [];
    return { requested, buckets: this.existing(similar), exact: false };
  }

  private passesFor(all: readonly Term[], any: readonly Term[]): Pass[] {
    const without = this.existing(this.plan.none);
    const needed = all.map(({ buckets }) => buckets);
    const exact = any.filter((term) => term.exact).flatMap(({ buckets }) => buckets);
    const similar = any.filter((term) => !term.exact).flatMap(({ buckets }) => buckets);
    if (all.some((term) => !term.exact)) {
      const groups = any.length === 0 ? needed : [...needed, [...exact, ...similar]];
      return [this.pass(groups, without, true)];
    }
    const passes = [this.pass(any.length === 0 ? needed : [...needed, exact], without, false)];
    if (similar.length > 0) passes.push(this.pass([...needed, similar], [...without, ...exact], true));
    return passes;
  }

  private pass(
    groups: readonly (readonly CapabilityBucket[])[],
    without: readonly CapabilityBucket[],
    fuzzy: boolean,
  ): Pass {
    const size = (group: readonly CapabilityBucket[]): number =>
      group.reduce((sum, { members }) => sum + members.size, 0);
    const bySize = groups.length > 0 ? groups.toSorted((a, b) => size(a) - size(b)) : [[this.index.allAgents()]];
    return { groups: bySize, without, fuzzy };
  }

  private existing(capabilities: readonly string[]): CapabilityBucket[] {
    return capabilities.map((capability) => this.index.find(capability)).filter((bucket) => bucket !== undefined);
  }
}

function isIn(
  listing: Listing,
  groups: readonly (readonly CapabilityBucket[])[],
  without: readonly CapabilityBucket[],
): boolean {
  return (
    groups.every((group) => group.some(({ members }) => members.has(listing))) &&
    !without.some(({ members }) => members.has(listing))
  );
}

/** Iterates over agents in the order of one strategy, so that a query reads only as many as it needs. */
interface Walk {
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
