import { Injectable } from '@nestjs/common';
import { Database, type EventDraft, EventOutbox } from '#rollcall/platform';
import type { CircuitState, CircuitStep, CircuitTransition } from '../circuit/circuit.breaker.js';
import type { FailureReporter } from '../circuit/outcome.js';
import type { ProtectionExplanation } from '../leases/self-preservation.js';
import type { ProtectionMode } from '../leases/protection.state.js';
import type { DesiredState, LeaveReason } from './agent.record.js';
import type { AgentRow } from './agent.store.js';

/** Identifies the registration that an event is about. */
export interface AgentGeneration {
  agentId: string;
  generation: string;
  capabilities: readonly string[];
}

/** One effective update of an agent. */
export interface AgentUpdated {
  row: AgentRow;
  changed: readonly string[];
  /** The capabilities before the update. */
  before: readonly string[];
}

/** An operator has set the desired state of an agent. */
interface DesiredStateFacts {
  before: DesiredState;
  by: string;
  note: string | null;
}

const REGISTRY = 'registry';
const DESIRED_STATE_EVENTS = {
  active: 'agent.resumed',
  draining: 'agent.draining',
  quarantined: 'agent.quarantined',
} as const satisfies Record<DesiredState, string>;

/**
 * Appends events about agents, in the transaction of the change. After the commit it also notifies the listeners in this
 * process, so the directory of this replica does not wait for the event feed.
 */
@Injectable()
export class AgentEvents {
  private readonly listeners: ((agentIds: string[]) => void)[] = [];
  private readonly rowListeners: ((rows: readonly AgentRow[], now: number) => void)[] = [];

  constructor(
    private readonly db: Database,
    private readonly outbox: EventOutbox,
  ) {}

  /** The listener is called after each commit of this replica, with the ids of the changed agents that `onWrite` does not report. */
  onChange(listener: (agentIds: string[]) => void): void {
    this.listeners.push(listener);
  }

  /** The listener is called after each commit of this replica, with the written rows and the time of the database. */
  onWrite(listener: (rows: readonly AgentRow[], now: number) => void): void {
    this.rowListeners.push(listener);
  }

  /** A registration that replaces a live one also appends `agent.left`. An entry without a row was not written and gets no event. */
  async joined(all: readonly { row?: AgentRow; before?: AgentRow }[], now: number): Promise<void> {
    const drafts = all.flatMap(({ row, before }): EventDraft[] => {
      if (!row) return [];
      const { agentId: subject, name, capabilities } = row;
      const joined: EventDraft = {
        type: 'agent.joined',
        subject,
        data: { name, generation: Number(row.generation), capabilities },
        capabilities,
      };
      return before?.leftAt === null ? [leftDraft(before, 'replaced'), joined] : [joined];
    });
    await this.outbox.appendAll(drafts);
    this.notifyRows(
      all.flatMap(({ row }) => row ?? []),
      now,
    );
  }

  async left(agents: readonly AgentGeneration[], reason: LeaveReason): Promise<void> {
    await this.append(agents.map((agent) => leftDraft(agent, reason)));
  }

  async suspected(agents: readonly AgentGeneration[], missedBeats: number): Promise<void> {
    await this.append(
      agents.map(({ agentId, generation, capabilities }) => ({
        type: 'agent.suspect',
        subject: agentId,
        data: { generation: Number(generation), missedBeats },
        capabilities,
      })),
    );
  }

  async recovered(agents: readonly AgentGeneration[]): Promise<void> {
    await this.append(
      agents.map(({ agentId, generation, capabilities }) => ({
        type: 'agent.recovered',
        subject: agentId,
        data: { generation: Number(generation) },
        capabilities,
      })),
    );
  }

  /** The event has the capabilities before and after, so consumers that filter by a removed capability receive it too. */
  async updated(all: readonly AgentUpdated[], now: number): Promise<void> {
    await this.outbox.appendAll(
      all.map(({ row, changed, before }) => ({
        type: 'agent.updated',
        subject: row.agentId,
        data: { generation: Number(row.generation), revision: Number(row.revision), changed: [...changed] },
        capabilities: [...new Set([...row.capabilities, ...before])],
      })),
    );
    this.notifyRows(
      all.map(({ row }) => row),
      now,
    );
  }

  /**
   * The directory of this replica has the new state before the caller gets its response. If the state is the same as before, no
   * event is appended.
   */
  async desiredStateSet(row: AgentRow, now: number, { before, by, note }: DesiredStateFacts): Promise<void> {
    const { agentId: subject, desiredState, capabilities } = row;
    const data = { by, ...(desiredState === 'quarantined' && note !== null && { reason: note }) };
    const draft = { type: DESIRED_STATE_EVENTS[desiredState], subject, data, capabilities };
    if (before !== desiredState) await this.append([draft]);
    this.notifyRows([row], now);
  }

  /** `reporters`: the reporters of the failures that opened the circuit. The circuit service itself updates the directory of this replica. */
  async circuitChanged(
    agent: AgentGeneration,
    { transitions, state }: CircuitStep,
    reporters: FailureReporter[] = [],
  ): Promise<void> {
    const drafts = transitions.map(({ to }) =>
      to === 'open' ? openedDraft(agent, state, reporters) : closingDraft(agent, to),
    );
    await this.outbox.appendAll(drafts);
  }

  async protectionChanged(before: ProtectionMode, { state, numbers }: ProtectionExplanation): Promise<void> {
    const { fleet, expired } = numbers;
    if (before === 'normal' && state !== 'normal') {
      await this.outbox.append('protection.entered', REGISTRY, { expiring: expired, fleet });
    } else if (before !== 'normal' && state === 'normal') {
      await this.outbox.append('protection.left', REGISTRY, { fleet });
    }
  }

  /** Replicas reload their directories when they receive this event. */
  async clockSteppedBack(byMs: number): Promise<void> {
    await this.outbox.append('registry.clock_stepped_back', REGISTRY, { byMs });
  }

  private async append(drafts: readonly EventDraft[]): Promise<void> {
    await this.outbox.appendAll(drafts);
    this.notifyIds(drafts.map(({ subject }) => subject));
  }

  private notifyIds(agentIds: string[]): void {
    if (agentIds.length > 0) this.db.afterCommit(() => this.listeners.forEach((listener) => listener(agentIds)));
  }

  private notifyRows(rows: readonly AgentRow[], now: number): void {
    if (rows.length > 0) this.db.afterCommit(() => this.rowListeners.forEach((listener) => listener(rows, now)));
  }
}

function leftDraft({ agentId, generation, capabilities }: AgentGeneration, reason: LeaveReason): EventDraft {
  return { type: 'agent.left', subject: agentId, data: { generation: Number(generation), reason }, capabilities };
}

function openedDraft(agent: AgentGeneration, state: CircuitState, reporters: FailureReporter[]): EventDraft {
  const { agentId: subject, capabilities } = agent;
  const { consecutiveFailures, openUntil } = state;
  const retryAt = new Date(openUntil ?? 0).toISOString();
  return { type: 'circuit.opened', subject, data: { consecutiveFailures, retryAt, reporters }, capabilities };
}

function closingDraft(agent: AgentGeneration, to: Exclude<CircuitTransition['to'], 'open'>): EventDraft {
  const { agentId: subject, capabilities } = agent;
  return { type: to === 'closed' ? 'circuit.closed' : 'circuit.half_opened', subject, data: {}, capabilities };
}
