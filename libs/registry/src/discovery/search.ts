import type { CapabilityIndex } from './capability.index.js';
import type { Found } from './candidate.js';
import type { Listing } from './listing.js';
import type { OrderedList } from './ordered.list.js';
import type { Posting } from './posting.js';
import type { QueryPlan } from './query.plan.js';
import { walkThrough } from './walk.js';

/** One asked-for capability: who answers it, or with `fuzzy` who answers those spelled most like it. */
interface Term {
  asked: string;
  postings: readonly Posting[];
  exact: boolean;
}

/** The agents that stand in at least one posting of each group and in none of `without`. */
interface Pass {
  groups: readonly (readonly Posting[])[];
  without: readonly Posting[];
  fuzzy: boolean;
}

/**
 * One plan against the index as it is now. It walks the smallest group in the strategy's order and checks the others, so it
 * looks at as many agents as it needs to fill the answer. Who matches exactly is found before who matches by similarity.
 */
export class Search {
  /** What the answer depends on, in the order it was read. */
  readonly orders: OrderedList[] = [];
  /** Asked for, and claimed by nobody. */
  readonly unclaimed: readonly string[];
  private readonly all: readonly Term[];
  private readonly any: readonly Term[];
  private readonly passes: readonly Pass[];

  constructor(
    private readonly plan: QueryPlan,
    private readonly index: CapabilityIndex,
  ) {
    this.all = plan.all.map((asked) => this.term(asked));
    this.any = plan.any.map((asked) => this.term(asked));
    this.unclaimed = [...this.all, ...this.any].filter(({ exact }) => !exact).map(({ asked }) => asked);
    this.passes = this.passesFor(this.all, this.any);
  }

  run(pivot: string | undefined): Found[] {
    const found: Found[] = [];
    for (const pass of this.passes) if (found.length < this.plan.limit) this.follow(pass, pivot, found);
    return found;
  }

  /** Whom a query could have meant: everyone in any of its groups, the smallest group first. */
  *nearby(): Iterable<Listing> {
    const met = new Set<Listing>();
    for (const posting of this.passes.flatMap(({ groups }) => groups.flat())) {
      for (const listing of posting.members) {
        if (met.has(listing)) continue;
        met.add(listing);
        yield listing;
      }
    }
  }

  /** The capabilities it would need to be found; `any` is one wish. */
  missing(listing: Listing): string[] {
    const has = ({ postings }: Term): boolean => postings.some(({ members }) => members.has(listing));
    const missing = this.all.filter((term) => !has(term)).map(({ asked }) => asked);
    if (this.any.length > 0 && !this.any.some(has)) missing.push(this.plan.any.join(' or '));
    return missing;
  }

  /** Those who meet every wish about capabilities, whether or not they are routable. */
  *capable(): Iterable<Listing> {
    for (const { groups, without } of this.passes) {
      const [smallest, ...others] = groups;
      for (const posting of smallest) {
        for (const listing of posting.members) if (stands(listing, others, without)) yield listing;
      }
    }
  }

  private follow({ groups, without, fuzzy }: Pass, pivot: string | undefined, found: Found[]): void {
    const { strategy, limit, filters } = this.plan;
    const [smallest, ...others] = groups;
    const orders = smallest.map((posting) => posting.order(strategy));
    this.orders.push(...orders);
    const walk = walkThrough(orders, pivot);
    while (found.length < limit) {
      const listing = walk.next();
      if (!listing) return;
      listing.seen = true;
      if (!stands(listing, others, without)) continue;
      if (filters.every((filter) => filter(listing.assessment) === undefined)) found.push({ listing, fuzzy });
    }
  }

  private term(asked: string): Term {
    const posting = this.index.find(asked);
    if (posting) return { asked, postings: [posting], exact: true };
    const similar = this.plan.fuzzy ? this.index.similarTo(asked) : [];
    return { asked, postings: this.existing(similar), exact: false };
  }

  private passesFor(all: readonly Term[], any: readonly Term[]): Pass[] {
    const without = this.existing(this.plan.none);
    const needed = all.map(({ postings }) => postings);
    const exact = any.filter((term) => term.exact).flatMap(({ postings }) => postings);
    const similar = any.filter((term) => !term.exact).flatMap(({ postings }) => postings);
    if (all.some((term) => !term.exact)) {
      const groups = any.length === 0 ? needed : [...needed, [...exact, ...similar]];
      return [this.pass(groups, without, true)];
    }
    const passes = [this.pass(any.length === 0 ? needed : [...needed, exact], without, false)];
    if (similar.length > 0) passes.push(this.pass([...needed, similar], [...without, ...exact], true));
    return passes;
  }

  private pass(groups: readonly (readonly Posting[])[], without: readonly Posting[], fuzzy: boolean): Pass {
    const size = (group: readonly Posting[]): number => group.reduce((sum, { members }) => sum + members.size, 0);
    const bySize = groups.length > 0 ? groups.toSorted((a, b) => size(a) - size(b)) : [[this.index.everyone()]];
    return { groups: bySize, without, fuzzy };
  }

  private existing(capabilities: readonly string[]): Posting[] {
    return capabilities.map((capability) => this.index.find(capability)).filter((posting) => posting !== undefined);
  }
}

function stands(listing: Listing, groups: readonly (readonly Posting[])[], without: readonly Posting[]): boolean {
  return (
    groups.every((group) => group.some(({ members }) => members.has(listing))) &&
    !without.some(({ members }) => members.has(listing))
  );
}
