import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  Database,
  NamespaceAdmission,
  NamespaceNotFoundError,
  type Quota,
  QuotaExceededError,
} from '#rollcall/platform';
import { MAX_AMOUNT } from '../budgets/budget.js';
import { checkAmount } from '../budgets/ledger/reservation.js';
import { capabilityFault } from '../discovery/capabilities/capability.js';
import { type ContractState, isSealed, nextContractState } from './auction/auction.js';
import { MAX_ETA_MS } from './auction/bid.js';
import { ContractAwards } from './auction/contract.awards.js';
import { ContractCloser } from './auction/contract.closer.js';
import { ContractReservations } from './auction/contract.reservations.js';
import { ScoringRules, weightsFault } from './auction/scoring.js';
import {
  ContractClosedError,
  NotTheAnnouncerError,
  ContractInvalidError,
  ContractNotFoundError,
} from './contract.errors.js';
import { ContractEvents } from './contract.events.js';
import type { Announcement, Contract, ListedContract, Participant } from './contract.js';
import { ContractInvitees, type Invitation, type InvitationRules } from './invitations/contract.invitees.js';
import { BidStore } from './store/bid.store.js';
import { type ContractFilter, type ContractKey, ContractStore } from './store/contract.store.js';
import { SEALED_KINDS, type TranscriptEntry, TranscriptStore } from './store/transcript.store.js';

export const MIN_WINDOW_MS = 100;
export const MAX_WINDOW_MS = 86_400_000;
export const MAX_TASK_LENGTH = 16_000;
/** A principal that is further than this from its limit announces without a lock, so its announcements do not wait for each other. */
const MARGIN = 100;

/** Decides whether a principal may add a contract to a namespace: the namespace exists, and the principal has not too many open contracts. */
@Injectable()
export class ContractAdmission {
  constructor(
    private readonly namespaces: NamespaceAdmission,
    private readonly contracts: ContractStore,
    private readonly quota: Quota,
  ) {}

  /**
   * Must be called in the transaction that adds the contract: until it ends, the namespace cannot be deleted and, near the limit, no other
   * contract of the principal is added.
   */
  async admit({ namespace, by }: Pick<Announcement, 'namespace' | 'by'>): Promise<void> {
    if (!(await this.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
    const { limit } = this.quota;
    if (limit === 0 || (await this.contracts.countOpenOf(by)) < limit - MARGIN) return;
    await this.contracts.lockOwner(by);
    if ((await this.contracts.countOpenOf(by)) >= limit) throw new QuotaExceededError(this.quota, 'open contracts');
  }
}

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
    private readonly contracts: ContractStore,
    private readonly bids: BidStore,
    private readonly transcript: TranscriptStore,
    private readonly events: ContractEvents,
    private readonly admission: ContractAdmission,
    private readonly invitees: ContractInvitees,
    private readonly scoring: ScoringRules,
    private readonly reservations: ContractReservations,
    private readonly awards: ContractAwards,
    private readonly closer: ContractCloser,
  ) {}

  /** Invites all capable agents that the rules allow. If there is none, the contract expires at once. */
  async announce(announcement: Announcement, rules?: InvitationRules): Promise<Contract> {
    checkAnnouncement(announcement);
    this.scoring.get(announcement.scoring);
    const fault = this.reservations.faultOf(announcement.reserve);
    if (fault !== undefined) throw new ContractInvalidError(fault);
    const invitation = await this.invitees.find(announcement, rules);
    const contract = await this.db.transaction(async () => await this.add(announcement, invitation));
    this.db.afterCommit(() => this.closer.wake());
    return contract;
  }

  async get(key: ContractKey): Promise<ContractReading> {
    const contract = await this.contracts.find(key);
    if (!contract) throw new ContractNotFoundError(key.id);
    const isHidden = isSealed(contract.state);
    const [participants, entries] = await Promise.all([
      isHidden ? [] : this.bids.all(contract.id),
      this.transcript.read(contract.id),
    ]);
    const transcript = isHidden ? entries.filter(({ kind }) => !SEALED_KINDS.has(kind)) : entries;
    return { contract, participants, transcript };
  }

  async list(filter: ContractFilter, limit: number, before?: number): Promise<ListedContract[]> {
    return await this.contracts.page(filter, limit, before);
  }

  /** The number of open contracts of all namespaces, by state. */
  async countOpen(): Promise<{ state: ContractState; contracts: number }[]> {
    return await this.contracts.countByState();
  }

  /** Cancels a contract that no agent has confirmed. A contract that is cancelled already is returned unchanged. */
  async cancel(key: ContractKey, actor: ContractActor): Promise<Contract> {
    return await this.db.transaction(async () => {
      const { contract, now } = await this.contracts.lock(key);
      requireActor(contract, actor);
      if (contract.state === 'cancelled') return contract;
      const state = nextContractState(contract.state, 'cancel');
      if (!state) throw new ContractClosedError(contract.id, contract.state, 'cancelled');
      if (contract.winner !== null) await this.reservations.release(contract);
      const cancelled = { ...contract, state, winner: null, confirmBy: null, endedAt: now };
      await this.contracts.save(cancelled);
      await this.events.cancelled(cancelled, actor.by);
      return cancelled;
    });
  }

  private async add(announcement: Announcement, { agents, notInvited }: Invitation): Promise<Contract> {
    await this.admission.admit(announcement);
    const counts = { invited: agents.length, notInvited };
    const added = await this.contracts.insert(newId(), announcement, counts);
    await this.bids.invite(added.id, agents);
    await this.events.announced(
      added,
      agents.map(({ agentId }) => agentId),
    );
    if (agents.length > 0) return added;
    return await this.awards.expire(added, added.announcedAt, 'no_capable_agent');
  }
}

export function requireActor({ id, by }: Contract, actor: ContractActor): void {
  if (!actor.mayManage && by !== actor.by) throw new NotTheAnnouncerError(id);
}

function newId(): string {
  return randomUUID().replaceAll('-', '');
}

/** Throws unless an auction with these terms can end: all times are finite, and the scores can differ. */
function checkAnnouncement({ bidWithinMs, confirmWithinMs, task, ...terms }: Announcement): void {
  const { capabilities, limits, reserve, weights } = terms;
  for (const [name, ms] of Object.entries({ bidWithinMs, confirmWithinMs }))
    check(isWhole(ms, MIN_WINDOW_MS, MAX_WINDOW_MS), `${name} must be from ${MIN_WINDOW_MS} to ${MAX_WINDOW_MS} ms.`);
  check(task.length <= MAX_TASK_LENGTH, `task must have at most ${MAX_TASK_LENGTH} characters.`);
  check(
    limits.price === null || isWhole(limits.price, 0, MAX_AMOUNT),
    `limits.price must be a whole number of micro-dollars from 0 to ${MAX_AMOUNT}.`,
  );
  check(
    limits.etaMs === null || isWhole(limits.etaMs, 1, MAX_ETA_MS),
    `limits.etaMs must be a whole number from 1 to ${MAX_ETA_MS}.`,
  );
  for (const capability of capabilities)
    check(capabilityFault(capability) === undefined, capabilityFault(capability) ?? '');
  checkAmount({ tokens: reserve.tokens, microUsd: reserve.microUsd ?? 0 });
  const fault = weightsFault(weights);
  check(fault === undefined, fault ?? '');
}

function check(isValid: boolean, message: string): void {
  if (!isValid) throw new ContractInvalidError(message);
}

function isWhole(value: number, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}
