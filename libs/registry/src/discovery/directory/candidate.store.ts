import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { LeaveReason } from '../../agents/agent.record.js';
import type { BeatRow } from '../../leases/lease.store.js';

/** The last heartbeat of an agent, with the versions of its record and budgets in Postgres. */
export interface MatchedRow extends BeatRow {
  revision: string;
  /** The sum of the versions of its budgets, because the ledger does not change the revision of the agent. */
  budgetVersions: string;
  /** The version of its circuit, because calls do not change the revision either. */
  circuitVersion: string;
}

/** An agent that has left. */
export interface DepartedRow {
  agentId: string;
  name: string;
  leaveReason: LeaveReason;
  agoMs: number;
}

/** How long an explanation includes an agent that left, how many of them it shows, and how many rows it reads for them. */
const RECENT_MS = 15 * 60_000;
const MAX_DEPARTED = 20;
const MAX_READ = 5_000;

@Injectable()
export class CandidateStore {
  constructor(private readonly db: Database) {}

  /** The live agents of the namespace that have at least one key of each group. Finds them by the index on capability keys. */
  async matching(namespace: string, groups: readonly (readonly string[])[]): Promise<MatchedRow[]> {
    const conditions = groups.map((_, at) => `a.capability_keys && $${at + 2}::text[]`).join(' AND ');
    return await this.db.query<MatchedRow>(
      `SELECT a.agent_id AS "agentId", a.generation, a.revision, l.last_beat_at AS "lastBeatAt", l.in_flight AS "inFlight",
         l.load_ratio AS "loadRatio", l.observed_ms AS "reportedMs", l.used_tokens AS "usedTokens", c.version AS "circuitVersion",
         (SELECT coalesce(sum(b.version), 0) FROM budget b WHERE b.kind = 'agent' AND b.subject = a.agent_id) AS "budgetVersions"
       FROM agent a JOIN agent_lease l ON l.agent_id = a.agent_id AND l.generation = a.generation
         JOIN agent_circuit c ON c.agent_id = a.agent_id
       WHERE a.left_at IS NULL AND a.namespace = $1 AND ${conditions}`,
      [namespace, ...groups],
    );
  }

  /** The agents of the namespace that left recently and had at least one key of each group; the latest first. */
  async departed(namespace: string, groups: readonly (readonly string[])[]): Promise<DepartedRow[]> {
    const conditions = groups.map((_, at) => ` AND capability_keys && $${at + 2}::text[]`).join('');
    return await this.db.query<DepartedRow>(
      `SELECT agent_id AS "agentId", name, leave_reason AS "leaveReason",
         (extract(epoch FROM clock_timestamp() - left_at) * 1000)::float8 AS "agoMs"
       FROM (SELECT * FROM agent WHERE left_at > clock_timestamp() - interval '${RECENT_MS} ms'
             ORDER BY left_at DESC LIMIT ${MAX_READ}) AS recent
       WHERE namespace = $1${conditions} ORDER BY left_at DESC LIMIT ${MAX_DEPARTED}`,
      [namespace, ...groups],
    );
  }
}
