import type { Listing } from './listing.js';
import { OrderedList } from './ordered.list.js';
import type { SelectionStrategy } from './strategies/selection.strategy.js';

/** Everyone who answers one capability, and their orders. An order is made when a query first asks for it, then kept. */
export class Posting {
  /** All of them, also those who are not routable now. */
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

  /** Those made so far. */
  orders(): Iterable<OrderedList> {
    return this.byStrategy.values();
  }

  /** Answers that were read from them must not outlive them. */
  forgetOrders(): void {
    for (const order of this.orders()) order.forget();
    this.byStrategy.clear();
  }
}
