import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { BeatRow } from '../leases/lease.store.js';

/** The last heartbeat of an agent, with the versions of its record and budgets in Postgres. */
export interface MatchedRow extends BeatRow {
  revision: string;
  /** The sum of the versions of its budgets, because the ledger does not change the revision of the agent. */
  budgetVersions: string;
}

@Injectable()
export class CandidateStore {
  constructor(private readonly db: Database) {}

  /** The live agents of the namespace that have at least one key of each group. Finds them by the index on capability keys. */
  async matching(namespace: string, groups: readonly (readonly string[])[]): Promise<MatchedRow[]> {
    const conditions = groups.map((_, at) => `a.capability_keys && $${at + 2}::text[]`).join(' AND ');
    return await this.db.query<MatchedRow>(
      `SELECT a.agent_id AS "agentId", a.generation, a.revision, l.last_beat_at AS "lastBeatAt", l.in_flight AS "inFlight",
         l.load_ratio AS "loadRatio", l.observed_ms AS "reportedMs", l.used_tokens AS "usedTokens",
         (SELECT coalesce(sum(b.version), 0) FROM budget b WHERE b.kind = 'agent' AND b.subject = a.agent_id) AS "budgetVersions"
       FROM agent a JOIN agent_lease l ON l.agent_id = a.agent_id AND l.generation = a.generation
       WHERE a.left_at IS NULL AND a.namespace = $1 AND ${conditions}`,
      [namespace, ...groups],
    );
  }
}
