import type { Assessment } from '../assessment.js';

/**
 * Orders candidates. A strategy compares two assessments and nothing else, so the directory can keep orders up to date
 * instead of sorting for every query. Standing takes precedence (see STANDINGS); the agentId breaks ties.
 */
export interface SelectionStrategy {
  /** The value of `prefer` that selects it. */
  readonly name: string;
  /** What the score of a candidate means. */
  readonly scoreMeaning: string;
  /** Whether agents of equal rank rotate: each answer of a replica starts with the next one. */
  readonly rotates?: boolean;
  /** Negative when the first is better. Must be a total preorder over assessments. */
  compare(one: Assessment, other: Assessment): number;
  /** Null if unknown. */
  score(agent: Assessment): number | null;
  /** The reason for the agent's place, in a few words. */
  reason(agent: Assessment): string;
}

/** Subtraction fails for two infinities: both unknown is equal, not NaN. */
export function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

const STEPS_OF_LOAD = 10;

/** Compares load in tenths: the less busy agent goes first, and small changes of load do not change the order. */
export function compareRoughLoad(one: Assessment, other: Assessment): number {
  return compareNumbers(Math.floor(one.load * STEPS_OF_LOAD), Math.floor(other.load * STEPS_OF_LOAD));
}

export function loadText({ record: { load } }: Assessment): string {
  return `${Math.round(load.ratio * 100)} % busy (${load.inFlight} of ${load.capacity ?? 'unknown capacity'})`;
}
