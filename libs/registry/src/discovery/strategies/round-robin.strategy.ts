import type { Assessment } from '../assessment.js';
import { loadText, type SelectionStrategy } from './selection.strategy.js';

/** All agents of one standing are equal and rotate; `Rotation` holds the state. */
export class RoundRobinStrategy implements SelectionStrategy {
  readonly name = 'round-robin';
  readonly scoreMeaning = 'none: equals take turns, in the order of their agentId';
  readonly rotates = true;

  compare(): number {
    return 0;
  }

  score(): number | null {
    return null;
  }

  reason(agent: Assessment): string {
    return `its turn, ${loadText(agent)}`;
  }
}
