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
export const MAX_REPORTERS = 20;
