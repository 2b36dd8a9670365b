import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { AgentsService } from '../agents/agents.service.js';
import type { AgentClaim } from '../agents/registration.js';
import { admissionOf } from './auction.js';
import { checkNote, checkOffer } from './bid.js';
import { type BidReceipt, type BidRequest, ContractAnswers, toAnswer } from './contract.answers.js';
import { ContractAwards } from './contract.awards.js';
import { BidLateError, ContractClosedError, NotAwardedError, NotInvitedError } from './contract.errors.js';
import type { Contract, Participant } from './contract.js';
import type { ContractKey, LockedContract } from './contract.store.js';
import { ContractStores } from './contract.stores.js';

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
    private readonly stores: ContractStores,
    private readonly answers: ContractAnswers,
    private readonly awards: ContractAwards,
  ) {}

  /** The last answer before the deadline counts. A late answer is rejected; the first few late answers of each agent are recorded. */
  async bid(key: ContractKey, claim: AgentClaim, request: BidRequest): Promise<BidReceipt> {
    await this.agents.check(claim); // before the lock: a forged claim must not delay other bidders
    const result = await this.db.transaction(async () => {
      const { locked, participant, generation } = await this.lock(key, claim);
      const { contract, now } = locked;
      const admission = admissionOf(contract, now);
      if (admission === 'closed') throw new ContractClosedError(key.id, contract.state, 'bid for');
      if ('offer' in request) checkOffer(request.offer, contract.limits);
      else checkNote(request.note);
      const answer = toAnswer(claim.agentId, generation, request);
      if (admission === 'late') return await this.answers.recordLate(locked, participant, answer);
      return await this.answers.accept(locked, participant, answer);
    });
    if ('lateMs' in result) throw new BidLateError(key.id, result);
    return result;
  }

  /** Confirms the award. A repeated confirmation of the winner has no effect. */
  async confirm(key: ContractKey, claim: AgentClaim): Promise<Contract> {
    await this.agents.check(claim);
    const { contract, isConfirmed } = await this.db.transaction(async () => {
      const { locked, participant, generation } = await this.lock(key, claim);
      const { winner, state } = locked.contract;
      const isWinner = winner === claim.agentId && participant.generation === generation;
      if (!isWinner || state === 'confirmed') return { contract: locked.contract, isConfirmed: isWinner };
      return await this.awards.confirm(locked, winner);
    });
    if (!isConfirmed) throw new NotAwardedError(contract, claim.agentId);
    return contract;
  }

  /** Declines the award, so that the runner-up gets it at once. */
  async decline(key: ContractKey, claim: AgentClaim): Promise<Contract> {
    await this.agents.check(claim);
    return await this.db.transaction(async () => {
      const { locked } = await this.lock(key, claim);
      const { contract, now } = locked;
      const { id, state, winner, confirmBy } = contract;
      const isWinner = winner === claim.agentId;
      if (isWinner && state === 'confirmed') throw new ContractClosedError(id, state, 'declined');
      if (!isWinner || now >= (confirmBy ?? 0)) throw new NotAwardedError(contract, claim.agentId);
      return await this.awards.passOn(contract, now, 'declined');
    });
  }

  /** Checks the claim again under the lock, because the agent may have registered again in the meantime. */
  private async lock(key: ContractKey, claim: AgentClaim): Promise<LockedParticipant> {
    const locked = await this.stores.lock(key);
    const [{ generation }, participant] = await Promise.all([
      this.agents.identify(claim),
      this.stores.bids.find(key.id, claim.agentId),
    ]);
    if (!participant) throw new NotInvitedError(key.id, claim.agentId);
    return { locked, participant, generation };
  }
}
