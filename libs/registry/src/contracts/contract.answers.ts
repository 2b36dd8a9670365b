import { Injectable } from '@nestjs/common';
import { Database, localIdOf } from '#rollcall/platform';
import { latenessMs, nextContractState } from './auction.js';
import { MAX_REPLACEMENTS, type Offer } from './bid.js';
import type { NewAnswer } from './bid.store.js';
import { ContractCloser } from './contract.closer.js';
import { BidRevisedTooOftenError } from './contract.errors.js';
import { ContractEvents } from './contract.events.js';
import type { Contract, Participant } from './contract.js';
import type { LockedContract } from './contract.store.js';
import { ContractStores } from './contract.stores.js';

/** The answer of an agent: an offer, or a refusal with an optional reason. */
export type BidRequest = { readonly offer: Offer } | { readonly refuse: true; readonly note: string | null };

/** What the bidder learns about its own answer. */
export interface BidReceipt {
  readonly contract: Contract;
  readonly revision: number;
}

export interface LateAnswer {
  readonly lateMs: number;
  readonly isRecorded: boolean;
}

/** The transcript contains at most this many late answers of each agent. */
const MAX_LATE = 3;

/** Stores the answers of invited agents. All methods need a locked contract. */
@Injectable()
export class ContractAnswers {
  constructor(
    private readonly db: Database,
    private readonly stores: ContractStores,
    private readonly events: ContractEvents,
    private readonly closer: ContractCloser,
  ) {}

  /** Replaces the last answer of the agent. A repetition of the last answer has no effect. */
  async accept({ contract, now }: LockedContract, before: Participant, answer: NewAnswer): Promise<BidReceipt> {
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
      this.stores.bids.answer(contract.id, answer, now),
      this.stores.contracts.save(changed, isComplete),
      this.events.answered(changed, offer ? { ...fact, ...offer } : { ...fact, note }, now),
    ]);
    if (isComplete) this.db.afterCommit(() => this.closer.wake());
    return { contract: changed, revision };
  }

  async recordLate({ contract, now }: LockedContract, before: Participant, late: NewAnswer): Promise<LateAnswer> {
    const lateMs = latenessMs(contract, now);
    if (before.lateAnswers >= MAX_LATE) return { lateMs, isRecorded: false };
    const { agentId, answer, offer } = late;
    await this.stores.bids.countLate(contract.id, agentId);
    await this.events.late(contract, { agentId: localIdOf(agentId), lateMs, answer, ...offer }, now);
    return { lateMs, isRecorded: true };
  }
}

/** `generation` is the generation of the registration that answers. */
export function toAnswer(agentId: string, generation: number, request: BidRequest): NewAnswer {
  if (!('offer' in request)) return { agentId, generation, answer: 'refused', offer: null, note: request.note };
  return { agentId, generation, answer: 'bid', offer: request.offer, note: request.offer.note };
}

function isRepetition(before: Participant, { generation, answer, offer, note }: NewAnswer): boolean {
  if (before.generation !== generation || before.answer !== answer || before.note !== note) return false;
  if (!offer || !before.offer) return true; // a refusal
  const { price, etaMs, confidence } = before.offer;
  return offer.price === price && offer.etaMs === etaMs && offer.confidence === confidence;
}
