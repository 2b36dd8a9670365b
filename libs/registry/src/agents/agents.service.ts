import { Injectable } from '@nestjs/common';
import { Database, type Quota, QuotaExceededError } from '#rollcall/platform';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { noteFlap, type FlapPolicy } from '../leases/flap.damping.js';
import { capabilityKeys } from '../discovery/capability.js';
import { NEAR_QUOTA, QuotaWatch } from '../quota.watch.js';
import {
  AgentAlreadyRegisteredError,
  AgentChangedError,
  AgentNotFoundError,
  LeaseTokenError,
  RegisterAgainError,
  TooManyLabelsError,
  wrongGeneration,
} from './agent.errors.js';
import { AgentEvents } from './agent.events.js';
import { type AgentRecord, type DesiredState, type Farewell, type LeaveReason, reasonToLeave } from './agent.record.js';
import { type AgentRow, toRecord, versionOf } from './agent.row.js';
import { type AgentListFilter, AgentStore, type Joining, type LockedAgent } from './agent.store.js';
import { type AgentUpdate, applyUpdate, declarationOf, MOST_LABELS } from './agent.update.js';
import { newAgentId, newLeaseToken, hashOfToken } from './lease.token.js';
import type { AgentClaim, Registration } from './registration.js';

export interface Joined {
  record: AgentRecord;
  /** Proves, with every write, that the agent is the one that registered. A re-registration keeps it. */
  leaseToken: string;
}

export interface JoinRequest {
  /** Proposed by the agent, or null to be given one. */
  agentId: string | null;
  /** Sent by an agent that is registered already and comes again. */
  leaseToken: string | null;
  by: string;
  facts: Registration;
}

/** A record, and which writing of it this is: for callers that change only what they have seen. */
export interface VersionedAgent {
  record: AgentRecord;
  version: string;
}

export interface AgentRules {
  flap: FlapPolicy;
  /** How many live agents one principal may have registered. */
  quota: Quota;
}

const PRUNE_STEP = 500;

/** Lets agents join and leave, and takes note of what operators want of them. Postgres decides every race. */
@Injectable()
export class AgentsService {
  private readonly watch: QuotaWatch;

  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly events: AgentEvents,
    private readonly rules: AgentRules,
    private readonly budgets: AgentBudgets,
  ) {
    this.watch = new QuotaWatch(rules.quota);
  }

  async register({ agentId: proposed, leaseToken: given, by, facts }: JoinRequest): Promise<Joined> {
    const agentId = proposed ?? newAgentId(facts.name);
    const leaseToken = given ?? newLeaseToken();
    const tokenHash = hashOfToken(leaseToken);
    const keys = capabilityKeys(facts.capabilities);
    return await this.db.transaction(async () => {
      const joining = { agentId, tokenHash, registeredBy: by, facts, capabilityKeys: keys };
      const { before, generation } = await this.join(joining);
      await this.store.startLease(agentId, generation, tokenHash);
      await this.budgets.declare(agentId, facts.budget, by);
      if (before) await this.store.saveFlap(agentId, noteFlap(before.flap, await this.store.now(), this.rules.flap));
      const record = await this.get(agentId);
      if (before?.leftAt === null) await this.events.left([before], 'replaced');
      await this.events.joined(record);
      return { record, leaseToken };
    });
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
   * Changes what the record says of itself, for the life the claim is about. With `ifVersion` only if it is still as the
   * caller saw it. What makes no difference is no change: nothing is written, and nobody is told.
   */
  async update(claim: AgentClaim, update: AgentUpdate, ifVersion?: string): Promise<VersionedAgent> {
    return await this.db.transaction(async () => {
      const row = await this.lockFor(claim);
      if (ifVersion !== undefined && ifVersion !== versionOf(row)) throw new AgentChangedError(claim.agentId);
      const { after, changed } = applyUpdate(declarationOf(row), update);
      if (Object.keys(after.labels).length > MOST_LABELS) throw new TooManyLabelsError(claim.agentId, MOST_LABELS);
      if (changed.length > 0) await this.store.redeclare(row.agentId, after, capabilityKeys(after.capabilities));
      const updated = await this.getVersioned(row.agentId);
      if (changed.length > 0) await this.events.updated(updated.record, changed, row.capabilities);
      return updated;
    });
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
  async deregister(claim: AgentClaim, farewell: Farewell = 'deregistered'): Promise<void> {
    await this.db.transaction(async () => {
      const record = toRecord(await this.lockFor(claim), await this.store.now());
      await this.leave(claim.agentId, reasonToLeave(farewell, record));
    });
  }

  /** An operator's, or a supervisor's, end of whichever life is the current one. */
  async remove(agentId: string, reason: LeaveReason): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.leave(agentId, reason))) throw new AgentNotFoundError(agentId);
    });
  }

  /** What an operator wants. It holds when the agent leaves and comes back; wanting the same again tells nobody. */
  async want(agentId: string, desiredState: DesiredState, note: string | null, by: string): Promise<AgentRecord> {
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
  async expel(agentId: string, note: string | null, by: string): Promise<AgentRecord> {
    return await this.db.transaction(async () => {
      await this.want(agentId, 'quarantined', note, by);
      await this.leave(agentId, 'quarantined');
      return await this.get(agentId);
    });
  }

  /** Forgets those that left longer ago than that; answers how many. */
  async forget(keepMs: number): Promise<number> {
    let total = 0;
    for (let pruned = PRUNE_STEP; pruned === PRUNE_STEP; total += pruned)
      pruned = await this.store.prune(keepMs, PRUNE_STEP);
    return total;
  }

  /** The life that begins, and the one before it: nobody's place is taken without having been looked at under its lock. */
  private async join(joining: Joining): Promise<{ before: LockedAgent | undefined; generation: number }> {
    const most = this.watch.isDue(joining.registeredBy) ? this.rules.quota.most : 0;
    const before = await this.store.lock(joining.agentId);
    const life = await this.store.join(joining, before !== undefined, most);
    if (most > 0) await this.checkQuota(joining, life?.owned ?? most);
    if (life) return { before, generation: life.generation };
    if (before) throw new AgentAlreadyRegisteredError(joining.agentId);
    return await this.join(joining); // someone came after the look
  }

  /** Near the quota, counts again under a lock what the registration counted without one. */
  private async checkQuota({ registeredBy, agentId }: Joining, counted: number): Promise<void> {
    const { quota } = this.rules;
    this.watch.noteCount(registeredBy, counted);
    if (counted < quota.most - NEAR_QUOTA) return;
    await this.store.lockOwner(registeredBy);
    const owned = await this.store.countOwned(registeredBy, agentId, quota.most);
    if (owned >= quota.most) throw new QuotaExceededError(quota, 'live agents');
  }

  /** Answers whether there was someone to leave. */
  private async leave(agentId: string, reason: LeaveReason): Promise<boolean> {
    const leaver = await this.store.leave({ agentId, generation: null, tokenHash: null }, reason);
    if (!leaver) return false;
    await this.budgets.takeLastReports([leaver]);
    await this.events.left([leaver], reason);
    return true;
  }

  /** The agent as it is under its lock, which is held until the transaction ends, if the claim may act for it. */
  private async lockFor(claim: AgentClaim): Promise<AgentRow> {
    await this.verify(claim); // who may not act must not hold up those who may
    await this.store.lock(claim.agentId);
    return await this.verify(claim); // a statement of its own: it sees what was committed while we waited
  }

  private async verify({ agentId, generation, tokenHash }: AgentClaim): Promise<AgentRow> {
    const row = await this.store.find(agentId);
    if (!row) throw new AgentNotFoundError(agentId);
    if (row.leftAt) throw new RegisterAgainError(agentId, row.leaveReason);
    if (tokenHash !== null && row.tokenHash !== tokenHash) throw new LeaseTokenError(agentId);
    const current = Number(row.generation);
    if (generation !== null && generation !== current) throw wrongGeneration(agentId, generation, current);
    return row;
  }
}
