import { Injectable } from '@nestjs/common';
import { Database, DEFAULT_NAMESPACE, inBatches, qualifiedId, StopsIn } from '#rollcall/platform';
import { capabilityKeys } from '../discovery/capability.js';
import { AgentNotFoundError } from './agent.errors.js';
import { AgentLifecycle } from './agent.lifecycle.js';
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
import type { IssuedLease, Joining } from './registration.batch.js';
import { type Joined, type JoinResult, RegistrationGroup } from './registration.group.js';
import type { AgentClaim, Registration } from './registration.js';
import { UpdateGroup, type VersionedAgent } from './update.group.js';

export type { Joined, JoinResult } from './registration.group.js';
export type { VersionedAgent } from './update.group.js';

export interface JoinRequest {
  /** The namespace of the agent; `default` if absent. */
  namespace?: string;
  /** The agentId that the agent proposes; null to generate one. */
  agentId: string | null;
  /** The lease token of the previous registration, if the agent registers again. Any other token is ignored. */
  leaseToken: string | null;
  /** Replaces a live registration of the same owner without its lease token. The new registration gets a new token. */
  takeover?: boolean;
  /** The principal that registers. It owns the agent, unless an operator registers the agent of another owner again. */
  by: string;
  /** Whether `by` may register agents of other owners again. */
  asOperator?: boolean;
  facts: Registration;
}

const PRUNE_BATCH = 500;

/** Registers, updates and removes agents, and stores the desired state that operators set. Postgres decides every race. */
@Injectable()
export class AgentsService {
  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly lifecycle: AgentLifecycle,
    private readonly registrations: RegistrationGroup,
    private readonly updates: UpdateGroup,
  ) {}

  async register(request: JoinRequest): Promise<Joined> {
    const [result] = await this.registerAll([request]);
    if (result?.state !== 'joined') throw result?.error ?? new Error('a registration has no result');
    return result.joined;
  }

  /** Returns one result for each request, in the same order. A rejected request does not affect the others. */
  async registerAll(requests: readonly JoinRequest[]): Promise<JoinResult[]> {
    return await this.registrations.register(requests.map(toJoining));
  }

  /** Settles when no batch of registrations or updates is in progress. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all([this.registrations.idle(), this.updates.idle()]);
  }

  async get(agentId: string): Promise<AgentRecord> {
    return (await this.getVersioned(agentId)).record;
  }

  async getVersioned(agentId: string): Promise<VersionedAgent> {
    const row = await this.store.find(agentId);
    if (!row) throw new AgentNotFoundError(agentId);
    return { record: toRecord(row, await this.store.now()), version: versionOf(row) };
  }

  /** Throws if the claim may not act for the agent. Callers use it before expensive work; the change itself checks again. */
  async check(claim: AgentClaim): Promise<void> {
    await this.verify(claim);
  }

  /**
   * Updates the declaration of the agent; with `ifVersion`, only if the record still has that version. An update without a
   * difference writes nothing and appends no event.
   */
  async update(claim: AgentClaim, update: AgentUpdate, ifVersion?: string): Promise<VersionedAgent> {
    return await this.updates.update({ claim, update, ifVersion });
  }

  async list(limit: number, after: string | undefined, filter: AgentListFilter): Promise<AgentRecord[]> {
    const from = after === undefined ? undefined : qualifiedId(filter.namespace, after);
    const rows = await this.store.page(limit, from, filter);
    const now = await this.store.now();
    return rows.map((row: AgentRow) => toRecord(row, now));
  }

  /** Returns the record if the claim may act for the agent. */
  async identify(claim: AgentClaim): Promise<AgentRecord> {
    return toRecord(await this.verify(claim), await this.store.now());
  }

  /** Deregisters the agent at the request of the agent, its owner or an operator. `leaveReasonOf` determines the recorded reason. */
  async deregister(claim: AgentClaim, given: DeregistrationReason = 'deregistered'): Promise<void> {
    await this.db.transaction(async () => {
      const record = toRecord(await this.lockFor(claim), await this.store.now());
      await this.lifecycle.leave(claim.agentId, leaveReasonOf(given, record));
    });
  }

  /** Ends the registration of the agent, whatever its generation, on behalf of an operator. */
  async remove(agentId: string, reason: LeaveReason): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.lifecycle.leave(agentId, reason))) throw new AgentNotFoundError(agentId);
    });
  }

  /** Sets the desired state. It survives a new registration. Setting the same state again appends no event. */
  async setDesiredState(
    agentId: string,
    desiredState: DesiredState,
    note: string | null,
    by: string,
  ): Promise<AgentRecord> {
    const change = { desiredState, note, by };
    return await this.db.transaction(async () => await this.lifecycle.setDesiredState(agentId, change));
  }

  /** Quarantines the agent and ends its registration. If it registers again, it is still quarantined. */
  async quarantineAndRemove(agentId: string, note: string | null, by: string): Promise<AgentRecord> {
    return await this.db.transaction(async () => {
      await this.lifecycle.setDesiredState(agentId, { desiredState: 'quarantined', note, by });
      await this.lifecycle.leave(agentId, 'quarantined');
      return await this.get(agentId);
    });
  }

  /** Deletes agents that left more than `keepMs` ago. Returns how many it deleted. */
  async prune(keepMs: number): Promise<number> {
    return await inBatches(PRUNE_BATCH, async (limit) => await this.store.prune(keepMs, limit));
  }

  /** Locks the agent until the transaction ends, and returns it if the claim may act for it. */
  private async lockFor(claim: AgentClaim): Promise<AgentRow> {
    await this.verify(claim); // before the lock: a claim that may not act must not delay other requests
    await this.store.lock(claim.agentId);
    return await this.verify(claim); // the agent may have changed before the lock was granted
  }

  private async verify(claim: AgentClaim): Promise<AgentRow> {
    const row = await this.store.find(claim.agentId);
    const error = claimError(claim, row);
    if (error || !row) throw error ?? new AgentNotFoundError(claim.agentId);
    return row;
  }
}

function toJoining(request: JoinRequest): Joining {
  const { namespace = DEFAULT_NAMESPACE, agentId, leaseToken: given, by, facts } = request;
  const { takeover = false, asOperator = false } = request;
  return {
    agentId: qualifiedId(namespace, agentId ?? newAgentId(facts.name)),
    isProposed: agentId !== null,
    ...leaseOf(newLeaseToken()),
    previous: given === null ? undefined : leaseOf(given),
    takeover,
    registeredBy: by,
    asOperator,
    facts,
    capabilityKeys: capabilityKeys(facts.capabilities),
  };
}

function leaseOf(leaseToken: string): IssuedLease {
  return { leaseToken, tokenHash: hashOfToken(leaseToken) };
}
