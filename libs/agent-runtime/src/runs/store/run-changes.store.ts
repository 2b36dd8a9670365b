import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { ChangedRun, ChangeFilter, ChangePosition } from '../run.js';
import type { RunStatus } from '../run.status.js';
import { SUMMARY_COLUMNS, type SummaryRow, toRunSummary } from './run.row.js';

const SELECTED = `r.namespace = $1 AND r.parent_id IS NULL AND ($2::text IS NULL OR r.created_by = $2)
  AND ($3::text[] IS NULL OR r.state = ANY ($3)) AND ($4::text[] IS NULL OR r.waiting_for = ANY ($4))
  AND ($5::text IS NULL OR r.agent_id = $5) AND ($6::text IS NULL OR coalesce(r.conversation_id, r.id) = $6)
  AND ($7::timestamptz IS NULL OR date_trunc('milliseconds', r.state_at) > $7)`;
/** A position needs microseconds: with the milliseconds of JavaScript, pages would overlap. */
const MICROSECONDS = '(extract(epoch FROM r.state_at) * 1000000)::bigint';

const VERSIONS = `SELECT id, state, concat_ws(' ', state, waiting_for, attempts,
    (SELECT max(seq) FROM run_step WHERE run_id = run.id)) AS version FROM run WHERE id = ANY ($1)`;

interface RunVersion {
  readonly state: RunStatus;
  /** Changes with the state of the run and with each step. */
  readonly version: string;
}

/** Finds out which runs have changed. */
@Injectable()
export class RunChangesStore {
  constructor(private readonly db: Database) {}

  /** Lists runs by the time of their last change, the latest first. */
  async page(filter: ChangeFilter, limit: number, before?: ChangePosition): Promise<ChangedRun[]> {
    const rows = await this.db.query<SummaryRow & { at: string }>(
      `SELECT ${SUMMARY_COLUMNS}, ${MICROSECONDS} AS at FROM run AS r WHERE ${SELECTED}
         AND ($8::bigint IS NULL OR (r.state_at, r.seq) < ('epoch'::timestamptz + $8 * interval '1 microsecond', $9::bigint))
       ORDER BY r.state_at DESC, r.seq DESC LIMIT $10`,
      [...valuesOf(filter), before?.at ?? null, before?.seq ?? null, limit],
    );
    return rows.map((row) => Object.assign(toRunSummary(row), { position: { at: row.at, seq: row.seq } }));
  }

  /** Returns a version for each run that exists. */
  async versions(runIds: readonly string[]): Promise<ReadonlyMap<string, RunVersion>> {
    const statement = { name: 'runs-versions', text: VERSIONS };
    const rows = await this.db.query<RunVersion & { id: string }>(statement, [runIds]);
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Counts at most `limit` runs. */
  async count(filter: ChangeFilter, limit: number): Promise<number> {
    const rows = await this.db.query<{ runs: number }>(
      `SELECT count(*)::integer AS runs FROM (SELECT 1 FROM run AS r WHERE ${SELECTED} LIMIT $8) AS found`,
      [...valuesOf(filter), limit],
    );
    return rows[0]?.runs ?? 0;
  }
}

function valuesOf({
  namespace,
  startedBy,
  states,
  waitingFor,
  agentId,
  conversationId,
  after,
}: ChangeFilter): unknown[] {
  return [namespace, startedBy, states, waitingFor, agentId, conversationId, after].map((value) => value ?? null);
}
