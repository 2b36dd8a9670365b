import { Injectable } from '@nestjs/common';
import { Database } from '../db/database.js';
import { noteFlap, type FlapPolicy } from '../leases/flap.damping.js';
import {
  AgentAlreadyRegisteredError,
  AgentNotFoundError,
  LeaseTokenError,
  RegisterAgainError,
  StaleGenerationError,
} from './agent.errors.js';
import { AgentEvents } from './agent.events.js';
import type { AgentRecord, DesiredState, LeaveReason } from './agent.record.js';
import { type AgentRow, toRecord } from './agent.row.js';
import { type AgentListFilter, AgentStore } from './agent.store.js';
import { newAgentId, newLeaseToken, hashOfToken } from './lease.token.js';
import type { LeaseClaim, Registration } from './registration.js';

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

const PRUNE_STEP = 500;

/** Lets agents join and leave, and takes note of what operators want of them. Postgres decides every race. */
@Injectable()
export class AgentsService {
  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly events: AgentEvents,
    private readonly flapPolicy: FlapPolicy,
  ) {}

  async register({ agentId: proposed, leaseToken: given, by, facts }: JoinRequest): Promise<Joined> {
    const agentId = proposed ?? newAgentId(facts.name);
    const leaseToken = given ?? newLeaseToken();
    const tokenHash = hashOfToken(leaseToken);
    return await this.db.transaction(async () => {
      const before = await this.store.lock(agentId);
      const generation = await this.store.join({ agentId, tokenHash, registeredBy: by, facts });
      if (generation === undefined) throw new AgentAlreadyRegisteredError(agentId);
      await this.store.startLease(agentId, generation, tokenHash);
      if (before) await this.store.saveFlap(agentId, noteFlap(before.flap, await this.store.now(), this.flapPolicy));
      const record = await this.get(agentId);
      if (before && before.leftAt === null) await this.events.replaced(record, generation - 1);
      await this.events.joined(record);
      return { record, leaseToken };
    });
  }

  async get(agentId: string): Promise<AgentRecord> {
    const row = await this.store.find(agentId);
    if (!row) throw new AgentNotFoundError(agentId);
    return toRecord(row, await this.store.now());
  }

  async list(limit: number, after: string | undefined, filter: AgentListFilter): Promise<AgentRecord[]> {
    const rows = await this.store.page(limit, after, filter);
    const now = await this.store.now();
    return rows.map((row: AgentRow) => toRecord(row, now));
  }

  /** The record, for who proves to be the agent, in the life the claim is about. */
  async identify(claim: LeaseClaim): Promise<AgentRecord> {
    const row = await this.store.find(claim.agentId);
    const theirs = claim.tokenHash === null || row?.tokenHash === claim.tokenHash;
    if (!row || row.leftAt || !theirs || Number(row.generation) !== claim.generation) throw await this.whyNot(claim);
    return toRecord(row, await this.store.now());
  }

  /** The agent's own goodbye. */
  async deregister(claim: LeaseClaim): Promise<void> {
    await this.leave(claim, 'deregistered', () => this.whyNot(claim));
  }

  /** An operator's, or a supervisor's, end of whichever life is the current one. */
  async remove(agentId: string, reason: LeaveReason): Promise<void> {
    await this.leave(
      { agentId, generation: null, tokenHash: null },
      reason,
      async () => new AgentNotFoundError(agentId),
    );
  }

  /** What an operator wants. It may be said of an agentId that is not there now; it holds when it comes. */
  async want(agentId: string, desiredState: DesiredState, note: string | null, by: string): Promise<AgentRecord> {
    return await this.db.transaction(async () => {
      const known = await this.store.lock(agentId);
      if (!known) throw new AgentNotFoundError(agentId);
      await this.store.setIntent(agentId, desiredState, note, by);
      const record = await this.get(agentId);
      await this.events.wanted(record, by);
      return record;
    });
  }

  /** Forgets those that left longer ago than that; answers how many. */
  async forget(keepMs: number): Promise<number> {
    let total = 0;
    for (let pruned = PRUNE_STEP; pruned === PRUNE_STEP; total += pruned)
      pruned = await this.store.prune(keepMs, PRUNE_STEP);
    return total;
  }

  private async leave(
    claim: Parameters<AgentStore['leave']>[0],
    reason: LeaveReason,
    refusal: () => Promise<Error>,
  ): Promise<void> {
    await this.db.transaction(async () => {
      const leaver = await this.store.leave(claim, reason);
      if (!leaver) throw await refusal();
      await this.events.left([leaver], reason);
    });
  }

  private async whyNot({ agentId, generation, tokenHash }: LeaseClaim): Promise<Error> {
    const row = await this.store.find(agentId);
    if (!row) return new AgentNotFoundError(agentId);
    if (row.leftAt) return new RegisterAgainError(agentId, row.leaveReason);
    if (tokenHash !== null && row.tokenHash !== tokenHash) return new LeaseTokenError(agentId);
    return new StaleGenerationError(agentId, generation, Number(row.generation));
  }
}
