import type { Assessment } from '../assessment.js';
import { compareNumbers, compareRoughLoad, type SelectionStrategy } from './selection.strategy.js';

/** Ranks by latency, lowest first. The declared latency is used if none was observed. Agents without a latency rank last. */
export class FastestStrategy implements SelectionStrategy {
  readonly name = 'fastest';
  readonly scoreMeaning = 'milliseconds of latency; lower is better';

  compare(one: Assessment, other: Assessment): number {
    return compareNumbers(one.latencyMs, other.latencyMs) || compareRoughLoad(one, other);
  }

  score({ latencyMs }: Assessment): number | null {
    return latencyMs === Infinity ? null : latencyMs;
  }

  reason({ latencyMs, record }: Assessment): string {
    if (latencyMs === Infinity) return 'latency unknown';
    return `${Math.round(latencyMs)} ms ${record.latency.observedMs === null ? 'declared' : 'observed'}`;
  }
}
