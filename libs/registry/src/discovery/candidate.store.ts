import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { BeatRow } from '../leases/lease.store.js';

/** An agent's last beat, and which writing of it Postgres has. */
export interface MatchedRow extends BeatRow {
  revision: string;
  /** Of all its budgets together: the ledger writes past the agent. */
  budgetVersions: string;
}

@Injectable()
export class CandidateStore {
  constructor(private readonly db: Database) {}

  /** The live agents that have at least one word of each group among their keys: narrow rows, by the index alone. */
  async matching(groups: readonly (readonly string[])[]): Promise<MatchedRow[]> {
    const conditions = groups.map((_, at) => `a.capability_keys && $${at + 1}::text[]`).join(' AND ');
    return await this.db.query<MatchedRow>(
      `SELECT a.agent_id AS "agentId", a.generation, a.revision, l.last_beat_at AS "lastBeatAt", l.in_flight AS "inFlight",
         l.load_ratio AS "loadRatio", l.observed_ms AS "observedMs", l.used_tokens AS "usedTokens",
         (SELECT coalesce(sum(b.version), 0) FROM budget b WHERE b.kind = 'agent' AND b.subject = a.agent_id) AS "budgetVersions"
       FROM agent a JOIN agent_lease l ON l.agent_id = a.agent_id AND l.generation = a.generation
       WHERE a.left_at IS NULL AND ${conditions}`,
      groups,
    );
  }
}
