import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { Offer } from '../auction/bid.js';
import type { BidScore } from '../auction/scoring.js';
import { type AwardResult, KEPT_AWARDS, type PastAward } from '../auction/track-record.js';
import type { Answer, ContractOutcome, Participant } from '../contract.js';
import type { ContractBidEntity } from './contract.entities.js';
import { timeOf } from './contract.store.js';

export interface Invited {
  readonly agentId: string;
  readonly generation: number;
}

export interface NewAnswer {
  readonly agentId: string;
  readonly generation: number;
  readonly answer: Answer;
  readonly offer: Offer | null;
  readonly note: string | null;
}

type BidRow = Omit<ContractBidEntity, 'contractId' | 'resultAt' | 'actualMicroUsd' | 'actualMs'>;

const BID_COLUMNS = `b.agent_id AS "agentId", b.generation, b.answer, b.price, b.eta_ms AS "etaMs", b.confidence, b.note,
  b.revision, b.answered_at AS "answeredAt", b.late_answers AS "lateAnswers", b.rank, b.score, b.result`;

/** The SQL of bids. The caller has locked the contract. */
@Injectable()
export class BidStore {
  constructor(private readonly db: Database) {}

  async invite(contractId: string, invited: readonly Invited[]): Promise<void> {
    await this.db.query(
      `INSERT INTO contract_bid (contract_id, agent_id, generation)
       SELECT $1, i."agentId", i.generation FROM json_to_recordset($2) AS i ("agentId" text, generation bigint)`,
      [contractId, JSON.stringify(invited)],
    );
  }

  async find(contractId: string, agentId: string): Promise<Participant | undefined> {
    const [row] = await this.db.query<BidRow>(
      `SELECT ${BID_COLUMNS} FROM contract_bid AS b WHERE contract_id = $1 AND agent_id = $2`,
      [contractId, agentId],
    );
    return row && toParticipant(row);
  }

  /** The best bid comes first. The agents without a rank come last, by agentId. */
  async all(contractId: string): Promise<Participant[]> {
    const rows = await this.db.query<BidRow>(
      `SELECT ${BID_COLUMNS} FROM contract_bid AS b WHERE contract_id = $1 ORDER BY rank NULLS LAST, agent_id COLLATE "C"`,
      [contractId],
    );
    return rows.map(toParticipant);
  }

  async answer(contractId: string, accepted: NewAnswer, at: number): Promise<void> {
    const { agentId, generation, answer, offer, note } = accepted;
    const { price = null, etaMs = null, confidence = null } = offer ?? {};
    await this.db.query(
      `UPDATE contract_bid SET generation = $3, answer = $4, price = $5, eta_ms = $6, confidence = $7, note = $8,
         revision = revision + 1, answered_at = to_timestamp($9::float8 / 1000) WHERE contract_id = $1 AND agent_id = $2`,
      [contractId, agentId, generation, answer, price, etaMs, confidence, note, at],
    );
  }

  async countLate(contractId: string, agentId: string): Promise<void> {
    const sql = 'UPDATE contract_bid SET late_answers = late_answers + 1 WHERE contract_id = $1 AND agent_id = $2';
    await this.db.query(sql, [contractId, agentId]);
  }

  /** Writes the ranks. The first score is the best one. */
  async rank(contractId: string, scores: readonly BidScore[]): Promise<void> {
    const items = scores.map(({ agentId, score }, index) => ({ agentId, score, rank: index + 1 }));
    await this.db.query(
      `UPDATE contract_bid b SET rank = s.rank, score = s.score
       FROM json_to_recordset($2) AS s ("agentId" text, score float8, rank int)
       WHERE b.contract_id = $1 AND b.agent_id = s."agentId"`,
      [contractId, JSON.stringify(items)],
    );
  }

  async end(contractId: string, agentId: string, result: AwardResult, actual?: ContractOutcome): Promise<void> {
    await this.db.query(
      `UPDATE contract_bid SET result = $3, result_at = clock_timestamp(), actual_micro_usd = $4, actual_ms = $5
       WHERE contract_id = $1 AND agent_id = $2`,
      [contractId, agentId, result, actual?.microUsd ?? null, actual?.ms ?? null],
    );
  }

  /** The latest ended awards of each agent. */
  async past(agentIds: readonly string[]): Promise<Map<string, PastAward[]>> {
    const rows = await this.db.query<{ agentId: string; result: AwardResult } & Record<string, string | null>>(
      `SELECT a.id AS "agentId", p.* FROM unnest($1::text[]) AS a (id) CROSS JOIN LATERAL (
         SELECT result, price, eta_ms AS "etaMs", actual_micro_usd AS "actualMicroUsd", actual_ms AS "actualMs"
         FROM contract_bid WHERE agent_id = a.id AND result IS NOT NULL ORDER BY result_at DESC LIMIT ${KEPT_AWARDS}) AS p`,
      [agentIds],
    );
    return Map.groupBy(rows.map(toPast), ({ agentId }) => agentId);
  }
}

function toParticipant({ generation, answeredAt, ...row }: BidRow): Participant {
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

function toPast(row: { agentId: string; result: AwardResult } & Record<string, string | null>): PastAward & {
  agentId: string;
} {
  const { agentId, result, price, etaMs, actualMicroUsd, actualMs } = row;
  return {
    agentId,
    result,
    price: Number(price),
    etaMs: Number(etaMs),
    actualMicroUsd: actualMicroUsd === null ? null : Number(actualMicroUsd),
    actualMs: actualMs === null ? null : Number(actualMs),
  };
}
