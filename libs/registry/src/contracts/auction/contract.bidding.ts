import { Injectable } from '@nestjs/common';
import { Database, localIdOf } from '#rollcall/platform';
import type { AgentCredential } from '../../agents/agent.credential.js';
import { AgentsService } from '../../agents/agents.service.js';
import {
  BidLateError,
  BidRevisedTooOftenError,
  ContractClosedError,
  NotAwardedError,
  NotInvitedError,
} from '../contract.errors.js';
import { ContractEvents } from '../contract.events.js';
import type { Contract, Participant } from '../contract.js';
import { BidStore, type NewAnswer } from '../store/bid.store.js';
import { type ContractKey, ContractStore, type LockedContract } from '../store/contract.store.js';
import { admissionOf, latenessMs, nextContractState } from './auction.js';
import { checkNote, checkOffer, MAX_REPLACEMENTS, type Offer } from './bid.js';
import { ContractAwards } from './contract.awards.js';
import { ContractCloser } from './contract.closer.js';

/** The answer of an agent: an offer, or a refusal with an optional reason. */
export type BidRequest = { readonly offer: Offer } | { readonly refuse: true; readonly note: string | null };

/** What the bidder learns about its own answer. */
interface BidReceipt {
  readonly contract: Contract;
  readonly revision: number;
}

interface LateAnswer {
  readonly lateMs: number;
  readonly isRecorded: boolean;
}

/** The transcript contains at most this many late answers of each agent. */
const MAX_LATE = 3;

interface LockedParticipant {
  readonly locked: LockedContract;
  readonly participant: Participant;
  /** The current registration of the agent. */
  readonly generation: number;
}

/**
 * Accepts the answers of invited agents, and the confirmation of the winner. Each call proves with the lease token and the
 * generation that it comes from the current registration of the agent. The contract is locked first, and the time of the database
 * after that decides whether an answer is in time.
 */
@Injectable()
export class ContractBidding {
  constructor(
    private readonly db: Database,
    private readonly agents: AgentsService,
    private readonly contracts: ContractStore,
    private readonly bids: BidStore,
    private readonly events: ContractEvents,
    private readonly awards: ContractAwards,
    private readonly closer: ContractCloser,
  ) {}

  /** The last answer before the deadline counts. A late answer is rejected; the first few late answers of each agent are recorded. */
  async bid(key: ContractKey, credential: AgentCredential, request: BidRequest): Promise<BidReceipt> {
    await this.agents.check(credential); // before the lock: a forged credential must not delay other bidders
    const result = await this.db.transaction(async () => {
      const { locked, participant, generation } = await this.lock(key, credential);
      const { contract, now } = locked;
      const admission = admissionOf(contract, now);
      if (admission === 'closed') throw new ContractClosedError(key.id, contract.state, 'bid for');
      if ('offer' in request) checkOffer(request.offer, contract.limits);
      else checkNote(request.note);
      const answer = toAnswer(credential.agentId, generation, request);
      if (admission === 'late') return await this.recordLate(locked, participant, answer);
      return await this.accept(locked, participant, answer);
    });
    if ('lateMs' in result) throw new BidLateError(key.id, result);
    return result;
  }

  /** Confirms the award. A repeated confirmation of the winner has no effect. */
  async confirm(key: ContractKey, credential: AgentCredential): Promise<Contract> {
    await this.agents.check(credential);
    const { contract, isConfirmed } = await this.db.transaction(async () => {
      const { locked, participant, generation } = await this.lock(key, credential);
      const { winner, state } = locked.contract;
      const isWinner = winner === credential.agentId && participant.generation === generation;
      if (!isWinner || state === 'confirmed') return { contract: locked.contract, isConfirmed: isWinner };
      return await this.awards.confirm(locked, winner);
    });
    if (!isConfirmed) throw new NotAwardedError(contract, credential.agentId);
    return contract;
  }

  /** Declines the award, so that the runner-up gets it at once. */
  async decline(key: ContractKey, credential: AgentCredential): Promise<Contract> {
    await this.agents.check(credential);
    return await this.db.transaction(async () => {
      const { locked } = await this.lock(key, credential);
      const { contract, now } = locked;
      const { id, state, winner, confirmBy } = contract;
      const isWinner = winner === credential.agentId;
      if (isWinner && state === 'confirmed') throw new ContractClosedError(id, state, 'declined');
      if (!isWinner || now >= (confirmBy ?? 0)) throw new NotAwardedError(contract, credential.agentId);
      return await this.awards.passOn(contract, now, 'declined');
    });
  }

  /** Checks the credential again under the lock, because the agent may have registered again in the meantime. */
  private async lock(key: ContractKey, credential: AgentCredential): Promise<LockedParticipant> {
    const locked = await this.contracts.lock(key);
    const [{ generation }, participant] = await Promise.all([
      this.agents.identify(credential),
      this.bids.find(key.id, credential.agentId),
    ]);
    if (!participant) throw new NotInvitedError(key.id, credential.agentId);
    return { locked, participant, generation };
  }

  /** Replaces the last answer of the agent. A repetition of the last answer has no effect. */
  private async accept({ contract, now }: LockedContract, before: Participant, answer: NewAnswer): Promise<BidReceipt> {
    if (isRepetition(before, answer)) return { contract, revision: before.revision };
    if (before.revision > MAX_REPLACEMENTS) throw new BidRevisedTooOftenError(MAX_REPLACEMENTS);
    const { agentId, offer, note } = answer;
    const revision = before.revision + 1;
    const state = nextContractState(contract.state, 'answer') ?? contract.state;
    const answered = contract.answered + (before.answer === null ? 1 : 0);
    const changed = { ...contract, state, answered };
    const isComplete = answered >= contract.invited;
    const fact = { agentId: localIdOf(agentId), revision };
    // one round trip, because other bidders wait for the lock
    await Promise.all([
      this.bids.answer(contract.id, answer, now),
      this.contracts.save(changed, isComplete),
      this.events.answered(changed, offer ? { ...fact, ...offer } : { ...fact, note }, now),
    ]);
    if (isComplete) this.db.afterCommit(() => this.closer.wake());
    return { contract: changed, revision };
  }

  private async recordLate(
    { contract, now }: LockedContract,
    before: Participant,
    late: NewAnswer,
  ): Promise<LateAnswer> {
    const lateMs = latenessMs(contract, now);
    if (before.lateAnswers >= MAX_LATE) return { lateMs, isRecorded: false };
    const { agentId, answer, offer } = late;
    await this.bids.countLate(contract.id, agentId);
    await this.events.late(contract, { agentId: localIdOf(agentId), lateMs, answer, ...offer }, now);
    return { lateMs, isRecorded: true };
  }
}

/** `generation` is the generation of the registration that answers. */
function toAnswer(agentId: string, generation: number, request: BidRequest): NewAnswer {
  if (!('offer' in request)) return { agentId, generation, answer: 'refused', offer: null, note: request.note };
  return { agentId, generation, answer: 'bid', offer: request.offer, note: request.offer.note };
}

function isRepetition(before: Participant, { generation, answer, offer, note }: NewAnswer): boolean {
  if (before.generation !== generation || before.answer !== answer || before.note !== note) return false;
  if (!offer || !before.offer) return true; // a refusal
  const { price, etaMs, confidence } = before.offer;
  return offer.price === price && offer.etaMs === etaMs && offer.confidence === confidence;
}
