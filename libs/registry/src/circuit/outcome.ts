import type { CircuitState } from './circuit.breaker.js';

/** The principal that reports an outcome. */
export interface Reporter {
  id: string;
  name: string;
}

/** The result of a call to an agent, as reported by its caller. */
export interface CallOutcome {
  ok: boolean;
  /** How long the call took. Only successful calls count for the observed latency: a failure can be fast. */
  latencyMs?: number;
  /** The id of the probe, if this call was the probe. */
  probeId?: string;
}

/** An outcome with its agent and its reporter. */
export interface OutcomeReport {
  agentId: string;
  outcome: CallOutcome;
  reporter: Reporter;
}

/** The circuit after the outcome, at the time `now` of the database, or the reason why the outcome is not recorded. */
export type ReportResult =
  { state: 'stored'; circuit: CircuitState; now: number } | { state: 'rejected'; error: Error };

/** A report with the number that the outcome gets. */
export interface NumberedOutcome extends OutcomeReport {
  number: number;
}

/** An outcome as it is stored. */
export interface ReportedOutcome {
  /** Counts the outcomes of the agent, from 1. */
  number: number;
  at: Date;
  /** The registration of the agentId at that time. */
  generation: number;
  ok: boolean;
  latencyMs: number | null;
  reporter: Reporter;
}

/** A principal whose failed calls opened a circuit. */
export interface FailureReporter extends Reporter {
  /** How many of the failures it reported. */
  failures: number;
}

/** How many outcomes of each agent are kept. */
export const KEPT_OUTCOMES = 100;
/** An event names at most this many reporters: those with the most failures. */
const MAX_REPORTERS = 20;

/** Counts the failures of each reporter: the reporter with the most failures first, then the reporter whose last failure is older. */
export function countFailures(inOrder: readonly Reporter[]): FailureReporter[] {
  const counted = new Map<string, FailureReporter>();
  for (const { id, name } of inOrder) {
    const key = JSON.stringify([id, name]);
    const failures = (counted.get(key)?.failures ?? 0) + 1;
    counted.delete(key); // inserted again at the end, so that the order is that of the last failures
    counted.set(key, { id, name, failures });
  }
  return [...counted.values()].toSorted((one, other) => other.failures - one.failures).slice(0, MAX_REPORTERS);
}
