import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AgentNotFoundError } from '../agents/agent.errors.js';
import { AgentEvents } from '../agents/agent.events.js';
import { AgentStore, type LockedAgent } from '../agents/agent.store.js';
import { CircuitOpenError } from './circuit.errors.js';
import {
  circuitPhase,
  nextCircuitChange,
  stepCircuit,
  type CircuitInput,
  type CircuitPhase,
  type CircuitPolicy,
  type CircuitState,
  type CircuitStep,
} from './circuit.breaker.js';
import { averageLatency } from './latency.average.js';
import type { CallOutcome, FailureReporter, ReportedOutcome, Reporter } from './outcome.js';
import { OutcomeStore } from './outcome.store.js';

export interface CircuitView {
  phase: CircuitPhase;
  consecutiveFailures: number;
  /** When the next probe is allowed; null while closed. */
  openUntil: string | null;
  /** The time until the next probe is allowed, for callers whose clock differs from that of the database; null while closed. */
  retryAfterMs: number | null;
}

export interface ProbeClaim {
  claimed: boolean;
  circuit: CircuitView;
  /** When the slot becomes free, whether this caller or another one holds it. */
  heldUntil: string | null;
}

/** The circuit breakers of all agents. Replicas share their state: every step holds the row lock of the agent. */
@Injectable()
export class CircuitService {
  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly outcomes: OutcomeStore,
    private readonly events: AgentEvents,
    private readonly policy: CircuitPolicy,
  ) {}

  /** Records the outcome with its reporter. The outcome counts for the circuit and for the observed latency of the agent. */
  async report(agentId: string, outcome: CallOutcome, reporter: Reporter): Promise<CircuitView> {
    return await this.db.transaction(async () => {
      const { ok, probeId } = outcome;
      const { agent, now } = await this.lock(agentId);
      const step = stepCircuit(agent.circuit, { kind: 'outcome', ok, probeId }, now, this.policy);
      const effect = { circuit: step.state, observedMs: observedAfter(agent, outcome) };
      const [, reporters] = await Promise.all([
        this.outcomes.add(agentId, outcome, reporter, effect),
        this.reportersOf(agentId, step),
      ]);
      await this.events.circuitChanged(agent, step, reporters);
      return viewOf(step.state, now);
    });
  }

  /** The latest outcomes of an agent, newest first, before the outcome with this number. */
  async listOutcomes(agentId: string, limit: number, before: string | undefined): Promise<ReportedOutcome[]> {
    const outcomes = await this.outcomes.page(agentId, limit, before);
    if (outcomes.length === 0 && !(await this.store.find(agentId))) throw new AgentNotFoundError(agentId);
    return outcomes;
  }

  /** Claims the probe slot of a half-open circuit. Exactly one caller among all replicas gets it. */
  async claimProbe(agentId: string, probeId: string): Promise<ProbeClaim> {
    return await this.db.transaction(async () => {
      const { state, claimed, now } = await this.step(agentId, { kind: 'claim', probeId });
      return { claimed, circuit: viewOf(state, now), heldUntil: momentOf(state.probe?.expiresAt) };
    });
  }

  /**
   * Admits every call while the circuit is closed. While it is half open, it admits one call as the probe and returns the call's
   * id. It rejects all other calls with a CircuitOpenError that contains the time to wait.
   */
  async admit(agentId: string, callId: string): Promise<string | undefined> {
    return await this.db.transaction(async () => {
      const { state, claimed, now } = await this.step(agentId, { kind: 'claim', probeId: callId });
      if (claimed) return callId;
      if (circuitPhase(state, now) === 'closed') return undefined;
      throw new CircuitOpenError(agentId, Math.max((nextCircuitChange(state, now) ?? now) - now, 0));
    });
  }

  /** Frees the slot of a probe that gave no information about the agent, so that the next caller may probe immediately. */
  async returnProbe(agentId: string, probeId: string): Promise<void> {
    await this.db.transaction(async () => void (await this.step(agentId, { kind: 'return', probeId })));
  }

  private async step(
    agentId: string,
    input: CircuitInput,
  ): Promise<{ state: CircuitState; claimed: boolean; now: number }> {
    const { agent, now } = await this.lock(agentId);
    const step = stepCircuit(agent.circuit, input, now, this.policy);
    if (step.state !== agent.circuit) {
      await this.store.saveCircuit(agentId, step.state);
      await this.events.circuitChanged(agent, step);
    }
    return { state: step.state, claimed: step.claimed, now };
  }

  /** One round trip. The time is read after the lock is granted. */
  private async lock(agentId: string): Promise<{ agent: LockedAgent; now: number }> {
    const [agent, now] = await Promise.all([this.store.lock(agentId), this.store.now()]);
    if (!agent || agent.leftAt) throw new AgentNotFoundError(agentId);
    return { agent, now };
  }

  /** The reporters of the failures that opened the circuit: all consecutive failures, or the failed probe. */
  private async reportersOf(agentId: string, { state, transitions }: CircuitStep): Promise<FailureReporter[]> {
    const opening = transitions.find(({ to }) => to === 'open');
    if (!opening) return [];
    const failures = opening.reason === 'probe_failed' ? 1 : state.consecutiveFailures;
    return await this.outcomes.latestReporters(agentId, failures);
  }
}

function observedAfter({ observedMs }: LockedAgent, { ok, latencyMs }: CallOutcome): number | null {
  return ok && latencyMs !== undefined ? averageLatency(observedMs, latencyMs) : observedMs;
}

function viewOf(state: CircuitState, now: number): CircuitView {
  const { consecutiveFailures, openUntil } = state;
  return {
    phase: circuitPhase(state, now),
    consecutiveFailures,
    openUntil: momentOf(openUntil),
    retryAfterMs: openUntil === null ? null : Math.max(0, openUntil - now),
  };
}

function momentOf(time: number | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}
