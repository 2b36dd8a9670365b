import type { Assessment } from '../assessment.js';
import { compareNumbers, loadText, type SelectionStrategy } from './selection.strategy.js';

/** Ranks the smallest share of used capacity first; among equals, the agent with the fewest running tasks. */
export class LeastLoadedStrategy implements SelectionStrategy {
  readonly name = 'least-loaded';
  readonly scoreMeaning = 'share of capacity in use; lower is better';

  compare(one: Assessment, other: Assessment): number {
    return compareNumbers(one.load, other.load) || one.record.load.inFlight - other.record.load.inFlight;
  }

  score({ load }: Assessment): number | null {
    return load;
  }

  reason(agent: Assessment): string {
    return loadText(agent);
  }
}
