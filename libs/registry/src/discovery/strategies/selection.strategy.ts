import type { Assessment } from '../assessment.js';

/**
 * How candidates are ordered. A strategy looks at two assessments and nothing else, so orders can be kept up to date
 * instead of being sorted for every query. Standing goes before it (see STANDINGS), the agentId settles what it leaves equal.
 */
export interface SelectionStrategy {
  /** What `prefer` says. */
  readonly name: string;
  /** What the score of a candidate means. */
  readonly scoreMeaning: string;
  /** Whether equals take turns at being first, from query to query on one replica. */
  readonly takesTurns?: boolean;
  /** Negative when the first is better. Must be a total preorder over assessments. */
  compare(one: Assessment, other: Assessment): number;
  /** Null when it cannot be known. */
  score(agent: Assessment): number | null;
  /** Why the agent stands where it stands, in a few words. */
  reason(agent: Assessment): string;
}

/** Subtraction fails for two infinities: both unknown is equal, not NaN. */
export function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

const STEPS_OF_LOAD = 10;

/** Load in tenths: among equals the less busy goes first, and small changes of load do not stir the order. */
export function compareRoughLoad(one: Assessment, other: Assessment): number {
  return compareNumbers(Math.floor(one.load * STEPS_OF_LOAD), Math.floor(other.load * STEPS_OF_LOAD));
}

export function loadText({ record: { load } }: Assessment): string {
  return `${Math.round(load.ratio * 100)} % busy (${load.inFlight} of ${load.capacity ?? 'unknown capacity'})`;
}
