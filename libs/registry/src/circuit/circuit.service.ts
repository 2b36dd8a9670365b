import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AgentNotFoundError } from '../agents/agent.errors.js';
import { AgentEvents } from '../agents/agent.events.js';
import { AgentStore } from '../agents/agent.store.js';
import { CircuitOpenError } from './circuit.errors.js';
import {
  circuitPhase,
  nextCircuitChange,
  stepCircuit,
  type CircuitInput,
  type CircuitPhase,
  type CircuitPolicy,
  type CircuitState,
} from './circuit.breaker.js';

/** The result of a call to an agent, as reported by its caller. */
export interface CallOutcome {
  ok: boolean;
  /** The id of the probe, if this call was the probe. */
  probeId?: string;
}

export interface CircuitView {
  phase: CircuitPhase;
  consecutiveFailures: number;
  /** When the next probe is allowed; null while closed. */
  openUntil: string | null;
  /** The same as a duration, because the caller's clock may differ; null while closed. */
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
    private readonly events: AgentEvents,
    private readonly policy: CircuitPolicy,
  ) {}

  async report(agentId: string, { ok, probeId }: CallOutcome): Promise<CircuitView> {
    return await this.db.transaction(async () => {
      const { state, now } = await this.step(agentId, { kind: 'outcome', ok, probeId });
      if (ok) await this.store.noteTask(agentId);
      return viewOf(state, now);
    });
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

  /** Frees the slot of a probe that gave no information about the agent, so that the next caller may probe at once. */
  async returnProbe(agentId: string, probeId: string): Promise<void> {
    await this.db.transaction(async () => void (await this.step(agentId, { kind: 'return', probeId })));
  }

  private async step(
    agentId: string,
    input: CircuitInput,
  ): Promise<{ state: CircuitState; claimed: boolean; now: number }> {
    const agent = await this.store.lock(agentId);
    if (!agent || agent.leftAt) throw new AgentNotFoundError(agentId);
    const now = await this.store.now();
    const { state, transitions, claimed } = stepCircuit(agent.circuit, input, now, this.policy);
    if (state !== agent.circuit) {
      await this.store.saveCircuit(agentId, state);
      await this.events.circuitChanged(agent, transitions, state);
    }
    return { state, claimed, now };
  }
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
