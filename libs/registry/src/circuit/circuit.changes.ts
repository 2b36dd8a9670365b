import { type CircuitPolicy, type CircuitState, type CircuitStep, stepCircuit } from './circuit.breaker.js';
import type { AgentCircuit, CircuitWrite } from './circuit.store.js';
import type { NumberedOutcome, OutcomeReport, Reporter } from './outcome.js';

/** A step that changed the phase of a circuit, with the failures that opened it. */
export interface PhaseChange {
  step: CircuitStep;
  /** The numbers of the failures that opened the circuit and are older than the batch; undefined if there are none. */
  olderFailures?: { first: number; last: number };
  /** The reporters of the failures in the batch that opened the circuit, in order. */
  reporters: readonly Reporter[];
}

/**
 * Applies outcomes to the locked circuit of one agent, in the order in which they were reported. Pure: it uses neither the database nor
 * a clock. All outcomes of a batch have the same time.
 */
export class CircuitChanges implements CircuitWrite {
  readonly added: NumberedOutcome[] = [];
  readonly phaseChanges: PhaseChange[] = [];
  private state: CircuitState;
  private observedMs: number | null;

  constructor(
    private readonly before: AgentCircuit,
    private readonly now: number,
    private readonly policy: CircuitPolicy,
  ) {
    this.state = before.state;
    this.observedMs = before.observedMs;
  }

  /** Returns the state of the circuit after this outcome. */
  add(report: OutcomeReport): CircuitState {
    const { ok, latencyMs, probeId } = report.outcome;
    this.added.push({ ...report, number: this.count + 1 });
    if (ok && latencyMs !== undefined) this.observedMs = averageLatency(this.observedMs, latencyMs);
    const step = stepCircuit(this.state, { kind: 'outcome', ok, probeId }, this.now, this.policy);
    this.state = step.state;
    if (step.transitions.length > 0) this.phaseChanges.push(this.phaseChangeOf(step));
    return step.state;
  }

  get after(): AgentCircuit {
    const { before, state, observedMs } = this;
    return {
      ...before,
      state,
      observedMs,
      lastTaskAt: new Date(this.now),
      outcomes: String(this.count),
      version: String(Number(before.version) + 1),
    };
  }

  /** How many outcomes the agent has. */
  private get count(): number {
    return Number(this.before.outcomes) + this.added.length;
  }

  /** The circuit is opened by the latest outcomes: all consecutive failures, or the failed probe. */
  private phaseChangeOf(step: CircuitStep): PhaseChange {
    const opening = step.transitions.find(({ to }) => to === 'open');
    if (!opening) return { step, reporters: [] };
    const failures = opening.reason === 'probe_failed' ? 1 : step.state.consecutiveFailures;
    const reporters = this.added.slice(-failures).map(({ reporter }) => reporter);
    if (reporters.length === failures) return { step, reporters };
    return { step, olderFailures: { first: this.count - failures + 1, last: Number(this.before.outcomes) }, reporters };
  }
}

/** The weight of the latest call. The influence of a call halves after about three more calls. */
const WEIGHT = 0.2;
/** Averages are rounded to microseconds, so that they are short in JSON. */
const PRECISION = 1_000;

/** The exponentially weighted average after one more call. The first average is the latency of the first call. */
export function averageLatency(before: number | null, latencyMs: number): number {
  const average = before === null ? latencyMs : before + WEIGHT * (latencyMs - before);
  return Math.round(average * PRECISION) / PRECISION;
}
