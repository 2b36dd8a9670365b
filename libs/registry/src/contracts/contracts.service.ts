import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, NamespaceNotFoundError } from '#rollcall/platform';
import { AnnouncementRules, checkAnnouncement } from './announcement.rules.js';
import { type ContractState, isSealed, nextContractState } from './auction.js';
import {
  ContractClosedError,
  ContractForeignError,
  ContractInvalidError,
  ContractNotFoundError,
} from './contract.errors.js';
import { ContractEvents } from './contract.events.js';
import type { Invitation, InvitationRules } from './contract.invitees.js';
import {
  type Announcement,
  type Contract,
  type ListedContract,
  type Participant,
  SEALED_KINDS,
  type TranscriptEntry,
} from './contract.js';
import { ContractSteps } from './contract.steps.js';
import type { ContractFilter, ContractKey } from './contract.store.js';
import { ContractStores } from './contract.stores.js';

/** The principal that changes a contract. Without `mayManage`, it may change only contracts that it announced. */
export interface ContractActor {
  readonly by: string;
  readonly mayManage: boolean;
}

/** A contract and the details that may be read now. While the bids are sealed, there are no participants. */
export interface ContractReading {
  readonly contract: Contract;
  readonly participants: readonly Participant[];
  readonly transcript: readonly TranscriptEntry[];
}

/** Announces, reads and cancels contracts. `ContractBidding` accepts the answers of agents, and `ContractCloser` opens the bids. */
@Injectable()
export class ContractsService {
  constructor(
    private readonly db: Database,
    private readonly stores: ContractStores,
    private readonly events: ContractEvents,
    private readonly rules: AnnouncementRules,
    private readonly steps: ContractSteps,
  ) {}

  /** Invites all capable agents that the rules allow. If there is none, the contract expires at once. */
  async announce(announcement: Announcement, rules?: InvitationRules): Promise<Contract> {
    checkAnnouncement(announcement);
    this.rules.scoring.get(announcement.scoring);
    const fault = this.steps.reservations.faultOf(announcement.reserve);
    if (fault !== undefined) throw new ContractInvalidError(fault);
    const invitation = await this.rules.invitees.find(announcement, rules);
    const contract = await this.db.transaction(async () => await this.add(announcement, invitation));
    this.db.afterCommit(() => this.steps.closer.wake());
    return contract;
  }

  async get(key: ContractKey): Promise<ContractReading> {
    const contract = await this.stores.contracts.find(key);
    if (!contract) throw new ContractNotFoundError(key.id);
    const isHidden = isSealed(contract.state);
    const [participants, entries] = await Promise.all([
      isHidden ? [] : this.stores.bids.all(contract.id),
      this.stores.transcript.read(contract.id),
    ]);
    const transcript = isHidden ? entries.filter(({ kind }) => !SEALED_KINDS.has(kind)) : entries;
    return { contract, participants, transcript };
  }

  async list(filter: ContractFilter, limit: number, before?: number): Promise<ListedContract[]> {
    return await this.stores.contracts.page(filter, limit, before);
  }

  /** The number of open contracts of all namespaces, by state. */
  async countOpen(): Promise<{ state: ContractState; contracts: number }[]> {
    return await this.stores.contracts.countByState();
  }

  /** Cancels a contract that no agent has confirmed. A contract that is cancelled already is returned unchanged. */
  async cancel(key: ContractKey, actor: ContractActor): Promise<Contract> {
    return await this.db.transaction(async () => {
      const { contract, now } = await this.stores.lock(key);
      requireActor(contract, actor);
      if (contract.state === 'cancelled') return contract;
      const state = nextContractState(contract.state, 'cancel');
      if (!state) throw new ContractClosedError(contract.id, contract.state, 'cancelled');
      if (contract.winner !== null) await this.steps.reservations.release(contract);
      const cancelled = { ...contract, state, winner: null, confirmBy: null, endedAt: now };
      await this.stores.contracts.save(cancelled);
      await this.events.cancelled(cancelled, actor.by);
      return cancelled;
    });
  }

  private async add(announcement: Announcement, { agents, notInvited }: Invitation): Promise<Contract> {
    const { namespace, by } = announcement;
    if (!(await this.rules.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
    await this.rules.quota.check(by);
    const counts = { invited: agents.length, notInvited };
    const added = await this.stores.contracts.insert(newId(), announcement, counts);
    await this.stores.bids.invite(added.id, agents);
    await this.events.announced(
      added,
      agents.map(({ agentId }) => agentId),
    );
    if (agents.length > 0) return added;
    return await this.steps.awards.expire(added, added.announcedAt, 'no_capable_agent');
  }
}

export function requireActor({ id, by }: Contract, actor: ContractActor): void {
  if (!actor.mayManage && by !== actor.by) throw new ContractForeignError(id);
}

function newId(): string {
  return randomUUID().replaceAll('-', '');
}
