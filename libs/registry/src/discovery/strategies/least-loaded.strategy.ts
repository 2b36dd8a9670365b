import type { Assessment } from '../assessment.js';
import { compareNumbers, loadText, type SelectionStrategy } from './selection.strategy.js';

/** The least busy first, by the share of its capacity in use; among equals, who has fewer tasks under way. */
export class LeastLoadedStrategy implements SelectionStrategy {
  readonly name = 'least-loaded';
  readonly scoreMeaning = 'share of capacity in use; less is better';

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
