import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { Attendance } from '../auction/auction.js';
import type { Contract } from '../contract.js';
import { CONTRACT_COLUMNS, type ContractRow, toContract } from './contract.store.js';

/** Joins the registered agents among the invited agents `b`, and the state that an operator wants for them. */
const AGENTS = `JOIN agent a ON a.agent_id = b.agent_id AND a.left_at IS NULL LEFT JOIN agent_intent i ON i.agent_id = a.agent_id`;
/** An invited agent is present while it is registered and no operator has drained or quarantined it. */
const IS_PRESENT = `coalesce(i.desired_state, 'active') = 'active'`;
/** A bid belongs to the registration that made it. */
const HAS_BID = `a.generation = b.generation AND ${IS_PRESENT}`;
/** An agent that registered again has lost its bid, so it has not answered. A refusal stays valid. */
const IS_PENDING = `(b.answer IS NULL OR b.answer = 'bid' AND a.generation <> b.generation) AND ${IS_PRESENT}`;

/**
 * Decides which invited agents are present. An agent that leaves, dies, or is drained or quarantined, is absent; all steps of a contract
 * use this one rule. An agent that registers again loses its bid, but stays invited.
 */
@Injectable()
export class AttendanceStore {
  constructor(private readonly db: Database) {}

  /** The open contracts that need an answer from this agent: an invitation without a valid bid, or an award that it can confirm. */
  async awaiting(agentId: string): Promise<Contract[]> {
    const rows = await this.db.query<ContractRow>(
      `SELECT ${CONTRACT_COLUMNS} FROM contract AS c JOIN contract_bid AS b ON b.contract_id = c.id AND b.agent_id = $1 ${AGENTS}
       WHERE c.due_at IS NOT NULL
         AND CASE WHEN c.state = 'awarded' THEN c.winner = b.agent_id AND ${HAS_BID} ELSE ${IS_PENDING} END ORDER BY c.seq`,
      [agentId],
    );
    return rows.map(toContract);
  }

  async of({ id, winner }: Pick<Contract, 'id' | 'winner'>): Promise<Attendance> {
    const [row] = await this.db.query<Attendance>(
      `SELECT count(*) FILTER (WHERE ${IS_PENDING})::integer AS pending,
         coalesce(bool_or(b.agent_id = $2 AND ${HAS_BID}), false) AS "isWinnerPresent"
       FROM contract_bid b ${AGENTS} WHERE b.contract_id = $1`,
      [id, winner],
    );
    return row ?? { pending: 0, isWinnerPresent: false };
  }

  /** The present agents that have not registered again since their invitation or bid. */
  async bidders(contractId: string): Promise<Set<string>> {
    const rows = await this.db.query<{ agentId: string }>(
      `SELECT b.agent_id AS "agentId" FROM contract_bid b ${AGENTS} WHERE b.contract_id = $1 AND ${HAS_BID}`,
      [contractId],
    );
    return new Set(rows.map(({ agentId }) => agentId));
  }

  /** Makes the next step of a contract due if its winner is absent, or if all present agents have answered. */
  async markDue(): Promise<void> {
    const members = `SELECT 1 FROM contract_bid b ${AGENTS} WHERE b.contract_id = c.id`;
    await this.db.query(
      `UPDATE contract SET due_at = clock_timestamp() WHERE seq IN (
         SELECT c.seq FROM contract c WHERE c.due_at > clock_timestamp() AND CASE WHEN c.state = 'awarded'
           THEN NOT EXISTS (${members} AND b.agent_id = c.winner AND ${HAS_BID})
           ELSE NOT EXISTS (${members} AND ${IS_PENDING}) END
         FOR NO KEY UPDATE OF c SKIP LOCKED)`,
    );
  }
}
