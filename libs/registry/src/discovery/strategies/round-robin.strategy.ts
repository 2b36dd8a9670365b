import type { Assessment } from '../assessment.js';
import { loadText, type SelectionStrategy } from './selection.strategy.js';

/** Treats all agents of one standing as equal, so that they rotate. `Rotation` stores the state. */
export class RoundRobinStrategy implements SelectionStrategy {
  readonly name = 'round-robin';
  readonly scoreMeaning = 'none: agents of equal rank rotate, in the order of their agentId';
  readonly rotates = true;

  compare(): number {
    return 0;
  }

  score(): number | null {
    return null;
  }

  reason(agent: Assessment): string {
    return `in rotation, ${loadText(agent)}`;
  }
}
