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

/** How a call to an agent went, as its caller saw it. */
export interface CallOutcome {
  ok: boolean;
  /** The probe this call was, if it was one. */
  probeId?: string;
}

export interface CircuitView {
  phase: CircuitPhase;
  consecutiveFailures: number;
  /** From this moment one probe may go; null while closed. */
  openUntil: string | null;
  /** How long that is from now, for callers with a clock of their own; null while closed. */
  retryAfterMs: number | null;
}

export interface ProbeClaim {
  claimed: boolean;
  circuit: CircuitView;
  /** Until when the slot is held, by this caller or by another. */
  heldUntil: string | null;
}

/** The breaker of each agent, shared by all replicas: every step is taken under the agent's row lock. */
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

  /** Asks for the one probe a half-open circuit lets through. Of any number of callers, on any replica, one gets it. */
  async claimProbe(agentId: string, probeId: string): Promise<ProbeClaim> {
    return await this.db.transaction(async () => {
      const { state, claimed, now } = await this.step(agentId, { kind: 'claim', probeId });
      return { claimed, circuit: viewOf(state, now), heldUntil: momentOf(state.probe?.expiresAt) };
    });
  }

  /**
   * Lets a call through: all of them while the circuit is closed, one while it is half open, which then is the probe and
   * gets its id back. Anyone else gets a CircuitOpenError that says when to ask again.
   */
  async admit(agentId: string, callId: string): Promise<string | undefined> {
    return await this.db.transaction(async () => {
      const { state, claimed, now } = await this.step(agentId, { kind: 'claim', probeId: callId });
      if (claimed) return callId;
      if (circuitPhase(state, now) === 'closed') return undefined;
      throw new CircuitOpenError(agentId, Math.max((nextCircuitChange(state, now) ?? now) - now, 0));
    });
  }

  /** The call that was the probe said nothing about the agent, so that the next caller may probe at once. */
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
      await this.events.circuitMoved(agent, transitions, state);
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
