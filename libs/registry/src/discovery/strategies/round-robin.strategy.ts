import type { Assessment } from '../assessment.js';
import { loadText, type SelectionStrategy } from './selection.strategy.js';

/** Nobody is better than another, so all of one standing take turns. Whose turn it is, `Turns` remembers. */
export class RoundRobinStrategy implements SelectionStrategy {
  readonly name = 'round-robin';
  readonly scoreMeaning = 'none: equals take turns, in the order of their agentId';
  readonly takesTurns = true;

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
