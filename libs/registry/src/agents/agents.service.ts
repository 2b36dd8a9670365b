import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, DEFAULT_NAMESPACE, inBatches, qualifiedId, StopsIn } from '#rollcall/platform';
import { AgentBudgets } from '../budgets/agent.budgets.js';
import { capabilityKeys } from '../discovery/capabilities/capability.js';
import { type AgentCredential, credentialError } from './agent.credential.js';
import { AgentNotFoundError } from './agent.errors.js';
import { AgentEvents } from './agent.events.js';
import {
  type AgentRecord,
  type DeregistrationReason,
  type DesiredState,
  type LeaveReason,
  leaveReasonOf,
} from './agent.record.js';
import { type AgentListFilter, type AgentRow, AgentStore, recordVersionOf, toRecord } from './agent.store.js';
import { hashOfToken, newLeaseToken } from './lease-token.store.js';
import type { IssuedLease, Joining } from './registration/registration.batch.js';
import { type Joined, type JoinResult, RegistrationGroup } from './registration/registration.group.js';
import type { AgentUpdate, Registration } from './registration/registration.js';
import { UpdateGroup, type VersionedAgent } from './registration/update.group.js';

interface DesiredStateChange {
  desiredState: DesiredState;
  note: string | null;
  by: string;
}

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
  /** Whether `by` may register an agentId that `ReservedNames` contains. */
  mayUseReserved?: boolean;
  /** `by` becomes the owner of the agentId, even if it belonged to another principal. For agents that Rollcall runs. */
  becomesOwner?: boolean;
  facts: Registration;
}

const PRUNE_BATCH = 500;
/** The number of random digits at the end of a generated agentId. The last 12 digits of a random UUID are all random. */
const SUFFIX_LENGTH = 10;

/** Registers, updates and removes agents, and stores the desired state that operators set. Postgres decides every race. */
@Injectable()
export class AgentsService {
  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly events: AgentEvents,
    private readonly budgets: AgentBudgets,
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
    const row = await this.find(agentId);
    return { record: toRecord(row, await this.store.now()), version: recordVersionOf(row) };
  }

  /** Throws if the credential may not act for the agent. Callers use it before expensive work; the change itself checks again. */
  async check(credential: AgentCredential): Promise<void> {
    await this.verify(credential);
  }

  /**
   * Updates the declaration of the agent; with `ifVersion`, only if the record still has that version. An update without a
   * difference writes nothing and appends no event.
   */
  async update(credential: AgentCredential, update: AgentUpdate, ifVersion?: string): Promise<VersionedAgent> {
    return await this.updates.update({ credential, update, ifVersion });
  }

  async list(limit: number, after: string | undefined, filter: AgentListFilter): Promise<AgentRecord[]> {
    const from = after === undefined ? undefined : qualifiedId(filter.namespace, after);
    const rows = await this.store.page(limit, from, filter);
    const now = await this.store.now();
    return rows.map((row: AgentRow) => toRecord(row, now));
  }

  /** Returns the record if the credential may act for the agent. */
  async identify(credential: AgentCredential): Promise<AgentRecord> {
    return toRecord(await this.verify(credential), await this.store.now());
  }

  /** Deregisters the agent at the request of the agent, its owner or an operator. `leaveReasonOf` determines the recorded reason. */
  async deregister(credential: AgentCredential, given: DeregistrationReason = 'deregistered'): Promise<void> {
    await this.db.transaction(async () => {
      const record = toRecord(await this.lockFor(credential), await this.store.now());
      await this.leave(credential.agentId, leaveReasonOf(given, record));
    });
  }

  /** Ends the registration of the agent, whatever its generation, on behalf of an operator. */
  async remove(agentId: string, reason: LeaveReason): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.leave(agentId, reason))) throw new AgentNotFoundError(agentId);
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
    return await this.db.transaction(async () => await this.setDesired(agentId, change));
  }

  /** Quarantines the agent and ends its registration. If it registers again, it is still quarantined. */
  async quarantineAndRemove(agentId: string, note: string | null, by: string): Promise<AgentRecord> {
    return await this.db.transaction(async () => {
      await this.setDesired(agentId, { desiredState: 'quarantined', note, by });
      await this.leave(agentId, 'quarantined');
      return await this.get(agentId);
    });
  }

  /** Deletes agents that left more than `keepMs` ago. Returns how many it deleted. */
  async prune(keepMs: number): Promise<number> {
    return await inBatches(PRUNE_BATCH, async (limit) => await this.store.prune(keepMs, limit));
  }

  /** Ends the registration in the transaction of the caller. Returns whether a live agent left. */
  private async leave(agentId: string, reason: LeaveReason): Promise<boolean> {
    const left = await this.store.leave({ agentId, generation: null, tokenHash: null }, reason);
    if (!left) return false;
    await this.budgets.applyLastReports([left]);
    await this.events.left([left], reason);
    return true;
  }

  /** Runs in the transaction of the caller. Setting the same state again appends no event. */
  private async setDesired(agentId: string, { desiredState, note, by }: DesiredStateChange): Promise<AgentRecord> {
    if (!(await this.store.lock(agentId))) throw new AgentNotFoundError(agentId);
    const before = await this.find(agentId);
    await this.store.setIntent(agentId, desiredState, note, by);
    const row = await this.find(agentId);
    const now = await this.store.now();
    await this.events.desiredStateSet(row, now, { before: before.desiredState, by, note });
    return toRecord(row, now);
  }

  private async find(agentId: string): Promise<AgentRow> {
    const row = await this.store.find(agentId);
    if (!row) throw new AgentNotFoundError(agentId);
    return row;
  }

  /** Locks the agent until the transaction ends, and returns it if the credential may act for it. */
  private async lockFor(credential: AgentCredential): Promise<AgentRow> {
    await this.verify(credential); // before the lock: a credential that may not act must not delay other requests
    await this.store.lock(credential.agentId);
    return await this.verify(credential); // the agent may have changed before the lock was granted
  }

  private async verify(credential: AgentCredential): Promise<AgentRow> {
    const row = await this.store.find(credential.agentId);
    const error = credentialError(credential, row);
    if (error || !row) throw error ?? new AgentNotFoundError(credential.agentId);
    return row;
  }
}

function toJoining(request: JoinRequest): Joining {
  const { namespace = DEFAULT_NAMESPACE, agentId, leaseToken: given, by, facts } = request;
  const { takeover = false, asOperator = false, mayUseReserved = false, becomesOwner = false } = request;
  return {
    agentId: qualifiedId(namespace, agentId ?? newAgentId(facts.name)),
    isProposed: agentId !== null,
    ...leaseOf(newLeaseToken()),
    previous: given === null ? undefined : leaseOf(given),
    takeover,
    registeredBy: by,
    asOperator,
    mayUseReserved,
    becomesOwner,
    facts,
    capabilityKeys: capabilityKeys(facts.capabilities),
  };
}

function leaseOf(leaseToken: string): IssuedLease {
  return { leaseToken, tokenHash: hashOfToken(leaseToken) };
}

/** Returns an agentId for an agent that proposes none: its name and a random suffix. */
function newAgentId(name: string): string {
  const stem = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40);
  return `${stem || 'agent'}-${randomUUID().slice(-SUFFIX_LENGTH)}`;
}
