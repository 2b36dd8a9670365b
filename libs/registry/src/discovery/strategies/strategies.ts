import { UnknownStrategyError } from '../discovery.errors.js';
import { CheapestStrategy } from './cheapest.strategy.js';
import { FastestStrategy } from './fastest.strategy.js';
import { LeastLoadedStrategy } from './least-loaded.strategy.js';
import { RoundRobinStrategy } from './round-robin.strategy.js';
import type { SelectionStrategy } from './selection.strategy.js';

/** The strategies that a query may name in `prefer`. To add one, write a class and add it to `defaultStrategies`. */
export class Strategies {
  private readonly byName = new Map<string, SelectionStrategy>();

  constructor(strategies: Iterable<SelectionStrategy> = defaultStrategies()) {
    for (const strategy of strategies) {
      if (this.byName.has(strategy.name))
        throw new Error(`Two strategies have the name "${strategy.name}". Rename one of them.`);
      this.byName.set(strategy.name, strategy);
    }
  }

  get(name: string): SelectionStrategy {
    const strategy = this.byName.get(name);
    if (!strategy) throw new UnknownStrategyError(name, this.names());
    return strategy;
  }

  names(): string[] {
    return [...this.byName.keys()].toSorted();
  }
}

export function defaultStrategies(): SelectionStrategy[] {
  return [new CheapestStrategy(), new FastestStrategy(), new LeastLoadedStrategy(), new RoundRobinStrategy()];
}
