import type { Contract, ListedContract, Participant } from './contract.js';
import type { ContractBidEntity } from './contract-bid.entity.js';
import type { ContractEntity } from './contract.entity.js';

export type ContractRow = Omit<ContractEntity, 'dueAt'>;

export const CONTRACT_COLUMNS = `c.seq, c.id, c.namespace, c.state, c.capabilities, c.task, c.limits, c.reserve, c.scoring,
  c.weights, c.run, c.announced_by AS "by", c.payer, c.announced_at AS "announcedAt", c.deadline,
  c.confirm_within_ms AS "confirmWithinMs", c.invited, c.not_invited AS "notInvited", c.answered, c.winner, c.awards, c.awarded_at AS "awardedAt",
  c.confirm_by AS "confirmBy", c.ended_at AS "endedAt", c.expiry_reason AS "expiryReason", c.run_id AS "runId", c.outcome`;

export function toContract(row: ContractRow): Contract {
  const { seq: _, announcedAt, deadline, awardedAt, confirmBy, endedAt, ...facts } = row;
  return {
    ...facts,
    announcedAt: announcedAt.getTime(),
    deadline: deadline.getTime(),
    awardedAt: timeOf(awardedAt),
    confirmBy: timeOf(confirmBy),
    endedAt: timeOf(endedAt),
  };
}

export function toListed(row: ContractRow): ListedContract {
  return { ...toContract(row), seq: Number(row.seq) };
}

export type BidRow = Omit<ContractBidEntity, 'contractId' | 'resultAt' | 'actualMicroUsd' | 'actualMs'>;

export const BID_COLUMNS = `b.agent_id AS "agentId", b.generation, b.answer, b.price, b.eta_ms AS "etaMs", b.confidence, b.note,
  b.revision, b.answered_at AS "answeredAt", b.late_answers AS "lateAnswers", b.rank, b.score, b.result`;

export function toParticipant({ generation, answeredAt, ...row }: BidRow): Participant {
  const { price, etaMs, confidence, note, ...facts } = row;
  const offer = { price: Number(price), etaMs: Number(etaMs), confidence: confidence ?? 0, note };
  return {
    ...facts,
    generation: Number(generation),
    offer: row.answer === 'bid' ? offer : null,
    note,
    answeredAt: timeOf(answeredAt),
  };
}

function timeOf(date: Date | null): number | null {
  return date === null ? null : date.getTime();
}
