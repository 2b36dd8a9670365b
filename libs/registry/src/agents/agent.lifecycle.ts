import { Injectable } from '@nestjs/common';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { AgentNotFoundError } from './agent.errors.js';
import { AgentEvents } from './agent.events.js';
import type { AgentRecord, DesiredState, LeaveReason } from './agent.record.js';
import { type AgentRow, toRecord } from './agent.row.js';
import { AgentStore } from './agent.store.js';

export interface DesiredStateChange {
  desiredState: DesiredState;
  note: string | null;
  by: string;
}

/** Ends registrations and sets desired states, with their events, in the transaction of the caller. */
@Injectable()
export class AgentLifecycle {
  constructor(
    private readonly store: AgentStore,
    private readonly events: AgentEvents,
    private readonly budgets: AgentBudgets,
  ) {}

  /** Returns whether a live agent left. */
  async leave(agentId: string, reason: LeaveReason): Promise<boolean> {
    const left = await this.store.leave({ agentId, generation: null, tokenHash: null }, reason);
    if (!left) return false;
    await this.budgets.applyLastReports([left]);
    await this.events.left([left], reason);
    return true;
  }

  /** Setting the same state again appends no event. */
  async setDesiredState(agentId: string, { desiredState, note, by }: DesiredStateChange): Promise<AgentRecord> {
    if (!(await this.store.lock(agentId))) throw new AgentNotFoundError(agentId);
    const before = await this.find(agentId);
    await this.store.setIntent(agentId, desiredState, note, by);
    const record = toRecord(await this.find(agentId), await this.store.now());
    if (before.desiredState !== desiredState) await this.events.desiredStateChanged(record, by, note);
    return record;
  }

  private async find(agentId: string): Promise<AgentRow> {
    const row = await this.store.find(agentId);
    if (!row) throw new AgentNotFoundError(agentId);
    return row;
  }
}
