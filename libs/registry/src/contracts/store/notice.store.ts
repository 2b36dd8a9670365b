import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { NoticeKind } from '../invitations/contract.inviters.js';

export interface DueNotice {
  readonly contractId: string;
  readonly agentId: string;
  readonly kind: NoticeKind;
  readonly attempts: number;
}

/** The queue of notices for the endpoints of agents. A notice stays in the queue until it is delivered or its last attempt has failed. */
@Injectable()
export class NoticeStore {
  constructor(private readonly db: Database) {}

  /** Adds a notice for each of these agents that has an endpoint. */
  async add(contractId: string, kind: NoticeKind, agentIds: readonly string[]): Promise<void> {
    if (agentIds.length === 0) return;
    await this.db.query(
      `INSERT INTO contract_notice (contract_id, kind, agent_id)
       SELECT $1, $2, agent_id FROM agent WHERE agent_id = ANY ($3) AND endpoint IS NOT NULL AND left_at IS NULL
       ON CONFLICT DO NOTHING`,
      [contractId, kind, agentIds],
    );
  }

  /** Claims notices for `leaseMs`. A notice that is not removed within that time can be claimed again. */
  async claim(limit: number, leaseMs: number): Promise<DueNotice[]> {
    return await this.db.query<DueNotice>(
      `UPDATE contract_notice n SET due_at = clock_timestamp() + $2 * interval '1 millisecond', attempts = attempts + 1
       FROM (SELECT contract_id, agent_id, kind FROM contract_notice WHERE due_at <= clock_timestamp()
         ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED) AS due
       WHERE (n.contract_id, n.agent_id, n.kind) = (due.contract_id, due.agent_id, due.kind)
       RETURNING n.contract_id AS "contractId", n.agent_id AS "agentId", n.kind, n.attempts`,
      [limit, leaseMs],
    );
  }

  async remove({ contractId, agentId, kind }: DueNotice): Promise<void> {
    await this.db.query('DELETE FROM contract_notice WHERE contract_id = $1 AND agent_id = $2 AND kind = $3', [
      contractId,
      agentId,
      kind,
    ]);
  }
}
