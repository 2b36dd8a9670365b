import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { capabilityKeys } from '../discovery/capability.js';
import { AgentNotFoundError } from './agent.errors.js';
import { AgentEvents } from './agent.events.js';
import {
  type AgentRecord,
  type DesiredState,
  type DeregistrationReason,
  type LeaveReason,
  leaveReasonOf,
} from './agent.record.js';
import { type AgentRow, toRecord, versionOf } from './agent.row.js';
import { type AgentListFilter, AgentStore } from './agent.store.js';
import type { AgentUpdate } from './agent.update.js';
import { claimError } from './claim.check.js';
import { newAgentId, newLeaseToken, hashOfToken } from './lease.token.js';
import type { AgentRules, Joining } from './registration.batch.js';
import { type Joined, type JoinResult, RegistrationGroup } from './registration.group.js';
import { RegistrationStore } from './registration.store.js';
import type { AgentClaim, Registration } from './registration.js';
import { UpdateGroup, type VersionedAgent } from './update.group.js';

export type { Joined, JoinResult } from './registration.group.js';
export type { VersionedAgent } from './update.group.js';

export interface JoinRequest {
  /** Proposed by the agent, or null to be given one. */
  agentId: string | null;
  /** Sent by an agent that is registered already and comes again. */
  leaseToken: string | null;
  by: string;
  facts: Registration;
}

const PRUNE_STEP = 500;

/** Registers, updates and removes agents, and stores what operators want of them. Postgres decides every race. */
@Injectable()
export class AgentsService {
  private readonly registrations: RegistrationGroup;
  private readonly updates: UpdateGroup;

  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly events: AgentEvents,
    rules: AgentRules,
    private readonly budgets: AgentBudgets,
  ) {
    const stores = { agents: store, registrations: new RegistrationStore(db) };
    this.registrations = new RegistrationGroup(db, stores, events, budgets, rules);
    this.updates = new UpdateGroup(db, store, events);
  }

  async register(request: JoinRequest): Promise<Joined> {
    const [result] = await this.registerAll([request]);
    if (result?.state !== 'joined') throw result?.error ?? new Error('a registration has no result');
    return result.joined;
  }

  /** Each has a result of its own, in the order given; the rejection of one does not affect the others. */
  async registerAll(requests: readonly JoinRequest[]): Promise<JoinResult[]> {
    return await this.registrations.register(requests.map(toJoining));
  }

  async get(agentId: string): Promise<AgentRecord> {
    return (await this.getVersioned(agentId)).record;
  }

  async getVersioned(agentId: string): Promise<VersionedAgent> {
    const row = await this.store.find(agentId);
    if (!row) throw new AgentNotFoundError(agentId);
    return { record: toRecord(row, await this.store.now()), version: versionOf(row) };
  }

  /** Refuses a claim that may not act now: for edges that do something costly before they act. */
  async check(claim: AgentClaim): Promise<void> {
    await this.verify(claim);
  }

  /**
   * Changes the declaration of the registration that the claim is about; with `ifVersion` only if the record still has that
   * version. An update without a difference writes nothing and appends no event.
   */
  async update(claim: AgentClaim, update: AgentUpdate, ifVersion?: string): Promise<VersionedAgent> {
    return await this.updates.update({ claim, update, ifVersion });
  }

  async list(limit: number, after: string | undefined, filter: AgentListFilter): Promise<AgentRecord[]> {
    const rows = await this.store.page(limit, after, filter);
    const now = await this.store.now();
    return rows.map((row: AgentRow) => toRecord(row, now));
  }

  /** The record, for who proves to be the agent, in the life the claim is about. */
  async identify(claim: AgentClaim): Promise<AgentRecord> {
    return toRecord(await this.verify(claim), await this.store.now());
  }

  /** The agent's own goodbye, or an operator's in its place; the reason also depends on how it stands at that moment. */
  async deregister(claim: AgentClaim, farewell: DeregistrationReason = 'deregistered'): Promise<void> {
    await this.db.transaction(async () => {
      const record = toRecord(await this.lockFor(claim), await this.store.now());
      await this.leave(claim.agentId, leaveReasonOf(farewell, record));
    });
  }

  /** An operator's, or a supervisor's, end of whichever life is the current one. */
  async remove(agentId: string, reason: LeaveReason): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.leave(agentId, reason))) throw new AgentNotFoundError(agentId);
    });
  }

  /** What an operator wants. It holds when the agent leaves and comes back; wanting the same again tells nobody. */
  async setDesiredState(
    agentId: string,
    desiredState: DesiredState,
    note: string | null,
    by: string,
  ): Promise<AgentRecord> {
    return await this.db.transaction(async () => {
      if (!(await this.store.lock(agentId))) throw new AgentNotFoundError(agentId);
      const before = await this.get(agentId);
      await this.store.setIntent(agentId, desiredState, note, by);
      const record = await this.get(agentId);
      if (before.desiredState !== desiredState) await this.events.wanted(record, by, note);
      return record;
    });
  }

  /** Quarantines, and ends the life it has now: the agent stops being listed at all, and comes back in quarantine. */
  async quarantineAndRemove(agentId: string, note: string | null, by: string): Promise<AgentRecord> {
    return await this.db.transaction(async () => {
      await this.setDesiredState(agentId, 'quarantined', note, by);
      await this.leave(agentId, 'quarantined');
      return await this.get(agentId);
    });
  }

  /** Forgets those that left longer ago than that; answers how many. */
  async prune(keepMs: number): Promise<number> {
    let total = 0;
    for (let pruned = PRUNE_STEP; pruned === PRUNE_STEP; total += pruned)
      pruned = await this.store.prune(keepMs, PRUNE_STEP);
    return total;
  }

  /** Answers whether there was someone to leave. */
  private async leave(agentId: string, reason: LeaveReason): Promise<boolean> {
    const leaver = await this.store.leave({ agentId, generation: null, tokenHash: null }, reason);
    if (!leaver) return false;
    await this.budgets.applyLastReports([leaver]);
    await this.events.left([leaver], reason);
    return true;
  }

  /** The agent as it is under its lock, which is held until the transaction ends, if the claim may act for it. */
  private async lockFor(claim: AgentClaim): Promise<AgentRow> {
    await this.verify(claim); // who may not act must not hold up those who may
    await this.store.lock(claim.agentId);
    return await this.verify(claim); // a statement of its own: it sees what was committed while we waited
  }

  private async verify(claim: AgentClaim): Promise<AgentRow> {
    const row = await this.store.find(claim.agentId);
    const error = claimError(claim, row);
    if (error || !row) throw error ?? new AgentNotFoundError(claim.agentId);
    return row;
  }
}

function toJoining({ agentId: proposed, leaseToken: given, by, facts }: JoinRequest): Joining {
  const agentId = proposed ?? newAgentId(facts.name);
  const leaseToken = given ?? newLeaseToken();
  const keys = capabilityKeys(facts.capabilities);
  return { agentId, leaseToken, tokenHash: hashOfToken(leaseToken), registeredBy: by, facts, capabilityKeys: keys };
}
