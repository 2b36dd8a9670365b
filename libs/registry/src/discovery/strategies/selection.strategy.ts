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
  /** Whether agents of equal rank rotate: each result of a replica starts with the next agent. */
  readonly rotates?: boolean;
  /** Negative when the first is better. Must be a total preorder over assessments. */
  compare(one: Assessment, other: Assessment): number;
  /** Null if unknown. */
  score(agent: Assessment): number | null;
  /** A short reason for the agent's rank. */
  reason(agent: Assessment): string;
}

/** Two infinities, which stand for unknown values, are equal; subtraction would return NaN. */
export function compareNumbers(one: number, other: number): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

const STEPS_OF_LOAD = 10;

/** Compares the load in steps of a tenth, so that small changes of load do not change the order. */
export function compareRoughLoad(one: Assessment, other: Assessment): number {
  return compareNumbers(Math.floor(one.load * STEPS_OF_LOAD), Math.floor(other.load * STEPS_OF_LOAD));
}

export function loadText({ record: { load } }: Assessment): string {
  const { ratio, inFlight, capacity } = load;
  const tasks = capacity === null ? `${inFlight} in progress` : `${inFlight} of ${capacity}`;
  return `${Math.round(ratio * 100)} % busy (${tasks})`;
}
