import { Injectable } from '@nestjs/common';
import { Database, type EventDraft, EventOutbox } from '#rollcall/platform';
import type { CircuitState, CircuitTransition } from '../circuit/circuit.breaker.js';
import type { ProtectionExplanation } from '../leases/protection.explanation.js';
import type { ProtectionMode } from '../leases/protection.state.js';
import type { AgentRecord, DesiredState, LeaveReason } from './agent.record.js';

/** Whom an event is about: which of its lives, and what it can do. */
export interface AgentLife {
  agentId: string;
  generation: string;
  capabilities: readonly string[];
}

/** Who a sweep found changed. */
export type SweptAgent = AgentLife;

const REGISTRY = 'registry';
const WISHES = {
  active: 'agent.resumed',
  draining: 'agent.draining',
  quarantined: 'agent.quarantined',
} as const satisfies Record<DesiredState, string>;

/**
 * Tells what happened to agents, in the transaction that makes it so: the feed for everybody else, and for this replica's
 * directory at once, as soon as it is committed.
 */
@Injectable()
export class AgentEvents {
  private readonly listeners: ((agentIds: string[]) => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
  ) {}

  /** Called after a commit of this replica's, with the agents it was about. */
  onChange(listener: (agentIds: string[]) => void): void {
    this.listeners.push(listener);
  }

  async joined({ agentId, name, generation, capabilities }: AgentRecord): Promise<void> {
    const data = { name, generation, capabilities: [...capabilities] };
    await this.tell([{ type: 'agent.joined', subject: agentId, data, capabilities }]);
  }

  async left(leavers: readonly AgentLife[], reason: LeaveReason): Promise<void> {
    const drafts = leavers.map(({ agentId, generation, capabilities }) => ({
      type: 'agent.left' as const,
      subject: agentId,
      data: { generation: Number(generation), reason },
      capabilities,
    }));
    await this.tell(drafts);
  }

  async suspected(agents: readonly SweptAgent[], missedBeats: number): Promise<void> {
    await this.tell(
      agents.map(({ agentId, generation, capabilities }) => ({
        type: 'agent.suspect',
        subject: agentId,
        data: { generation: Number(generation), missedBeats },
        capabilities,
      })),
    );
  }

  async recovered(agents: readonly SweptAgent[]): Promise<void> {
    await this.tell(
      agents.map(({ agentId, generation, capabilities }) => ({
        type: 'agent.recovered',
        subject: agentId,
        data: { generation: Number(generation) },
        capabilities,
      })),
    );
  }

  /** Also for those who choose by a capability it no longer has. */
  async updated(
    { agentId, generation, capabilities: now }: AgentRecord,
    changed: string[],
    before: readonly string[],
  ): Promise<void> {
    const capabilities = [...new Set([...now, ...before])];
    await this.tell([{ type: 'agent.updated', subject: agentId, data: { generation, changed }, capabilities }]);
  }

  async wanted({ agentId, desiredState, capabilities }: AgentRecord, by: string, note: string | null): Promise<void> {
    const data = { by, ...(desiredState === 'quarantined' && note !== null && { reason: note }) };
    await this.tell([{ type: WISHES[desiredState], subject: agentId, data, capabilities }]);
  }

  async circuitMoved(
    { agentId, capabilities }: AgentLife,
    transitions: readonly CircuitTransition[],
    state: CircuitState,
  ): Promise<void> {
    await this.tell(transitions.map(({ to }) => ({ ...circuitEvent(agentId, to, state), capabilities })));
    this.announce([agentId]);
  }

  async protectionChanged(before: ProtectionMode, { state, numbers }: ProtectionExplanation): Promise<void> {
    const { fleet, expired } = numbers;
    if (before === 'normal' && state !== 'normal') {
      await this.outbox.append('protection.entered', REGISTRY, { expiring: expired, fleet });
    } else if (before !== 'normal' && state === 'normal') {
      await this.outbox.append('protection.left', REGISTRY, { fleet });
    }
  }

  /** Replicas load their directories again when they read this. */
  async clockSteppedBack(byMs: number): Promise<void> {
    await this.outbox.append('registry.clock_stepped_back', REGISTRY, { byMs });
  }

  private async tell(drafts: readonly EventDraft[]): Promise<void> {
    await this.outbox.appendAll(drafts);
    this.announce(drafts.map(({ subject }) => subject));
  }

  private announce(agentIds: string[]): void {
    if (agentIds.length > 0) this.db.afterCommit(() => this.listeners.forEach((listener) => listener(agentIds)));
  }
}

function circuitEvent(subject: string, to: CircuitTransition['to'], state: CircuitState): EventDraft {
  switch (to) {
    case 'open': {
      const { consecutiveFailures, openUntil } = state;
      const retryAt = new Date(openUntil ?? 0).toISOString();
      return { type: 'circuit.opened', subject, data: { consecutiveFailures, retryAt } };
    }
    case 'half_open':
      return { type: 'circuit.half_opened', subject, data: {} };
    case 'closed':
      return { type: 'circuit.closed', subject, data: {} };
  }
}
