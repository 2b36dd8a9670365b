import { Injectable } from '@nestjs/common';
import { Database, localIdOf } from '#rollcall/platform';
import { AgentsService } from '../agents/agents.service.js';
import type { AgentClaim } from '../agents/registration.js';
import { isConfirmable, latenessMs, nextContractState } from './auction.js';
import { checkOffer, MAX_REVISIONS, type Offer } from './bid.js';
import { BidLateError, BidRevisedTooOftenError, NotAwardedError, NotInvitedError } from './contract.errors.js';
import { ContractEvents } from './contract.events.js';
import type { Contract, Participant } from './contract.js';
import type { ContractKey, LockedContract } from './contract.store.js';
import { ContractSteps } from './contract.steps.js';
import { ContractStores } from './contract.stores.js';

/** The answer of an agent: an offer, or a refusal with an optional reason. */
export type BidRequest = { readonly offer: Offer } | { readonly refuse: true; readonly note: string | null };

/** What the bidder learns about its own answer. */
export interface BidReceipt {
  readonly contract: Contract;
  readonly revision: number;
}

/** The transcript contains this many late answers of each agent. */
const MAX_LATE = 3;

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
    private readonly stores: ContractStores,
    private readonly events: ContractEvents,
    private readonly steps: ContractSteps,
  ) {}

  /** The last answer before the deadline counts. A late answer is recorded and rejected. */
  async bid(key: ContractKey, claim: AgentClaim, request: BidRequest): Promise<BidReceipt> {
    await this.agents.check(claim); // before the lock: a forged claim must not delay other bidders
    const { receipt, lateMs } = await this.db.transaction(async () => {
      const { locked, participant, generation } = await this.lock(key, claim);
      if ('offer' in request) checkOffer(request.offer, locked.contract.limits);
      const late = latenessMs(locked.contract, locked.now);
      if (late > 0) return { lateMs: await this.recordLate(locked.contract, participant, request, late) };
      return { receipt: await this.accept(locked.contract, { ...participant, generation }, request) };
    });
    if (!receipt) throw new BidLateError(key.id, lateMs ?? 0);
    return receipt;
  }

  /** Confirms the award. A repeated confirmation of the winner has no effect. */
  async confirm(key: ContractKey, claim: AgentClaim): Promise<Contract> {
    await this.agents.check(claim);
    return await this.db.transaction(async () => {
      const { locked, participant, generation } = await this.lock(key, claim);
      const { contract, now } = locked;
      const isWinner = contract.winner === claim.agentId && participant.generation === generation;
      if (isWinner && contract.state === 'confirmed') return contract;
      const state = nextContractState(contract.state, 'confirm');
      if (!isWinner || !state || !isConfirmable(contract, now)) throw new NotAwardedError(key.id, claim.agentId);
      const confirmed = { ...contract, state, confirmBy: null, endedAt: now };
      await this.stores.contracts.save(confirmed);
      await this.events.confirmed(confirmed, claim.agentId);
      return confirmed;
    });
  }

  /** Declines the award, so that the runner-up gets it at once. */
  async decline(key: ContractKey, claim: AgentClaim): Promise<Contract> {
    await this.agents.check(claim);
    return await this.db.transaction(async () => {
      const { locked } = await this.lock(key, claim);
      const { contract, now } = locked;
      if (contract.winner !== claim.agentId || !isConfirmable(contract, now))
        throw new NotAwardedError(key.id, claim.agentId);
      return await this.steps.awards.passOn(contract, now, 'declined');
    });
  }

  /** Checks the claim again under the lock, because the agent may have registered again in the meantime. */
  private async lock(
    key: ContractKey,
    claim: AgentClaim,
  ): Promise<{ locked: LockedContract; participant: Participant; generation: number }> {
    const locked = await this.stores.lock(key);
    const [{ generation }, participant] = await Promise.all([
      this.agents.identify(claim),
      this.stores.bids.find(key.id, claim.agentId),
    ]);
    if (!participant) throw new NotInvitedError(key.id, claim.agentId);
    return { locked, participant, generation };
  }

  private async accept(contract: Contract, participant: Participant, request: BidRequest): Promise<BidReceipt> {
    if (participant.revision >= MAX_REVISIONS) throw new BidRevisedTooOftenError(MAX_REVISIONS);
    const { agentId, generation } = participant;
    const revision = participant.revision + 1;
    const offer = 'offer' in request ? request.offer : null;
    const note = 'offer' in request ? request.offer.note : request.note;
    const answer = { agentId, generation, answer: offer ? 'bid' : 'refused', offer, note } as const;
    const state = nextContractState(contract.state, 'answer') ?? contract.state;
    const answered = contract.answered + (participant.answer === null ? 1 : 0);
    const changed = { ...contract, state, answered };
    const isComplete = answered >= contract.invited;
    const fact = { agentId: localIdOf(agentId), revision };
    // one round trip, because other bidders wait for the lock
    await Promise.all([
      this.stores.bids.answer(contract.id, answer),
      this.stores.contracts.save(changed, isComplete),
      this.events.answered(changed, offer ? { ...fact, ...offer } : { ...fact, note }),
    ]);
    if (isComplete) this.db.afterCommit(() => this.steps.closer.wake());
    return { contract: changed, revision };
  }

  private async recordLate(
    contract: Contract,
    { agentId, lateAnswers }: Participant,
    request: BidRequest,
    lateMs: number,
  ): Promise<number> {
    if (lateAnswers >= MAX_LATE) return lateMs;
    await this.stores.bids.countLate(contract.id, agentId);
    const offer = 'offer' in request ? request.offer : {};
    await this.events.late(contract, { agentId: localIdOf(agentId), lateMs, ...offer });
    return lateMs;
  }
}
