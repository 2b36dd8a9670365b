import type { Listing } from './listing.js';
import { OrderedList } from './ordered.list.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

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
