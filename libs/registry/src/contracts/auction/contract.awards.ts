import { Injectable } from '@nestjs/common';
import { localIdOf } from '#rollcall/platform';
import { ContractEvents } from '../contract.events.js';
import type { Contract, Participant } from '../contract.js';
import { AttendanceStore } from '../store/attendance.store.js';
import { BidStore } from '../store/bid.store.js';
import { ContractStore, type LockedContract } from '../store/contract.store.js';
import { TranscriptStore } from '../store/transcript.store.js';
import { dueStep, type ExpiryReason, isConfirmable, type LapseReason, nextContractState } from './auction.js';
import { ContractReservations } from './contract.reservations.js';
import { type BidScore, type Contender, ranked, type ScoringRule, ScoringRules, WEIGHTED_RULE } from './scoring.js';
import { NO_TRACK_RECORD, trackRecord } from './track-record.js';

interface ConfirmedAward {
  readonly contract: Contract;
  readonly isConfirmed: boolean;
}

/** Opens the bids of an auction, and gives the award to the best bidder. All methods need a locked contract. */
@Injectable()
export class ContractAwards {
  constructor(
    private readonly contracts: ContractStore,
    private readonly bids: BidStore,
    private readonly transcript: TranscriptStore,
    private readonly attendance: AttendanceStore,
    private readonly events: ContractEvents,
    private readonly reservations: ContractReservations,
    private readonly rules: ScoringRules,
  ) {}

  /** Scores the bids and awards the contract, or ends it if there is no bid. */
  async close(contract: Contract, now: number): Promise<Contract> {
    const participants = await this.bids.all(contract.id);
    const bidders = participants.filter(({ answer }) => answer === 'bid');
    if (bidders.length === 0) {
      const haveAllRefused = participants.every(({ answer }) => answer === 'refused');
      return await this.expire(contract, now, haveAllRefused ? 'all_refused' : 'no_bid');
    }
    await this.score(contract, bidders);
    return await this.award(contract, now, 'bidders_left');
  }

  /** Confirms the award of a locked contract. If its agent has been withdrawn from work, the award lapses instead. */
  async confirm({ contract, now }: LockedContract, agentId: string): Promise<ConfirmedAward> {
    const attendance = await this.attendance.of(contract);
    if (dueStep(contract, attendance, now) === 'unavailable') await this.passOn(contract, now, 'unavailable');
    const state = nextContractState(contract.state, 'confirm');
    if (!state || !isConfirmable(contract, attendance, now)) return { contract, isConfirmed: false };
    const confirmed = { ...contract, state, confirmBy: null, endedAt: now };
    await this.contracts.save(confirmed);
    await this.events.confirmed(confirmed, agentId);
    return { contract: confirmed, isConfirmed: true };
  }

  /** Takes the award from its agent, and gives it to the runner-up. */
  async passOn(contract: Contract, now: number, reason: LapseReason | 'declined'): Promise<Contract> {
    const agentId = contract.winner ?? '';
    await this.bids.end(contract.id, agentId, reason === 'declined' ? 'declined' : 'lapsed');
    await this.events.lapsed(contract, agentId, reason);
    return await this.award(contract, now, reason === 'unavailable' ? 'bidders_left' : 'not_confirmed');
  }

  async expire(contract: Contract, now: number, reason: ExpiryReason): Promise<Contract> {
    const state = nextContractState(contract.state, 'expire') ?? contract.state;
    const ended = { ...contract, state, winner: null, confirmBy: null, endedAt: now, expiryReason: reason };
    await this.contracts.save(ended);
    await this.events.expired(ended, reason);
    return ended;
  }

  /**
   * Releases the reservation of the current award, if there is one, and tries the bidders that had no award yet, the best one first.
   * `otherwise` is the expiry reason if none of them can get the award.
   */
  private async award(contract: Contract, now: number, otherwise: ExpiryReason): Promise<Contract> {
    const all = await this.bids.all(contract.id);
    const current = all.find(({ agentId }) => agentId === contract.winner)?.rank ?? 0;
    const candidates = all.filter(({ rank, result }) => rank !== null && rank > current && result === null);
    const present = await this.attendance.bidders(contract.id);
    const agentIds = candidates.map(({ agentId }) => agentId);
    await this.reservations.lock(
      contract,
      agentIds.filter((agentId) => present.has(agentId)),
    );
    if (contract.winner !== null) await this.reservations.release(contract);
    let reason = otherwise;
    for (const candidate of candidates) {
      if (!present.has(candidate.agentId)) {
        await this.transcript.append(contract.id, 'left', { agentId: localIdOf(candidate.agentId) });
        continue;
      }
      const awarded = await this.tryAward(contract, candidate, now);
      if (awarded) return awarded;
      reason = 'budget_exhausted';
    }
    return await this.expire(contract, now, reason);
  }

  /** Returns undefined if the budgets do not allow the award. */
  private async tryAward(contract: Contract, winner: Participant, now: number): Promise<Contract | undefined> {
    const { agentId } = winner;
    const awarded: Contract = {
      ...contract,
      state: nextContractState(contract.state, 'award') ?? contract.state,
      winner: agentId,
      awards: contract.awards + 1,
      awardedAt: now,
      confirmBy: now + contract.confirmWithinMs,
    };
    const code = await this.reservations.reserve(awarded, winner);
    if (code !== undefined) {
      await this.transcript.append(contract.id, 'unfunded', { agentId: localIdOf(agentId), code });
      return undefined;
    }
    await this.contracts.save(awarded);
    await this.events.awarded(awarded, winner);
    return awarded;
  }

  private async score(contract: Contract, bidders: readonly Participant[]): Promise<void> {
    const past = await this.bids.past(bidders.map(({ agentId }) => agentId));
    const contenders = bidders.flatMap(({ agentId, offer }): Contender[] => {
      const awards = past.get(agentId);
      return offer ? [{ agentId, offer, trackRecord: awards ? trackRecord(awards) : NO_TRACK_RECORD }] : [];
    });
    const { rule, scores } = this.scoresOf(contract, contenders);
    const order = ranked(contract.id, contenders, scores);
    await this.bids.rank(contract.id, order);
    const bids = order.map(({ agentId, score, parts }) => ({ agentId: localIdOf(agentId), score, parts }));
    await this.transcript.append(contract.id, 'scored', { rule: rule.name, bids });
  }

  /** A rule of the deployment that fails must not block the auction: the default rule replaces it. */
  private scoresOf(contract: Contract, contenders: readonly Contender[]): { rule: ScoringRule; scores: BidScore[] } {
    try {
      const rule = this.rules.get(contract.scoring);
      const scores = rule.score(contenders, contract.weights);
      if (isComplete(scores, contenders)) return { rule, scores };
    } catch {
      // the transcript names the rule that was used
    }
    return { rule: WEIGHTED_RULE, scores: WEIGHTED_RULE.score(contenders, contract.weights) };
  }
}

function isComplete(scores: readonly BidScore[], contenders: readonly Contender[]): boolean {
  const valid = scores.filter(({ score }) => Number.isFinite(score)).map(({ agentId }) => agentId);
  return valid.length === contenders.length && contenders.every(({ agentId }) => valid.includes(agentId));
}
