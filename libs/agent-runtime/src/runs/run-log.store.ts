import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { LogEntry } from './run-log.entry.js';
import type { RunSubject } from './run.events.js';
import { CHARGED, CHARGES_COLUMNS, type ChargesRow, definitionOf, ownCharge, type RunRow, timesOf } from './run.row.js';
import type { RunFence } from './run.scope.js';
import type { SpendingAmount } from '../spending/spending.js';

/** `isLeftOver`: the run was in progress when its root ended. */
export type EndedRun = RunSubject & {
  readonly isLeftOver: boolean;
  readonly stateAt: string;
  /** What the budgets were charged for the run itself. */
  readonly charged: SpendingAmount | undefined;
};

/** Always locks the rows of the roots in the same order, and before the rows of delegated runs. */
const LOCK = `SELECT id, lease_token AS token FROM run WHERE id = ANY ($1) AND lease_token = ANY ($2)
  ORDER BY id FOR NO KEY UPDATE`;

/** The writes of the replica that executes a run. Each write has an effect only if the lease of the tree is valid. */
@Injectable()
export class RunLogStore {
  constructor(private readonly db: Database) {}

  /** Locks the roots until the transaction ends. Returns the valid tokens. */
  async lock(fences: readonly RunFence[]): Promise<Set<string>> {
    const parameters = [fences.map(({ rootId }) => rootId), fences.map(({ token }) => token)];
    return tokens(await this.db.query<{ token: string }>({ name: 'runs-lock', text: LOCK }, parameters));
  }

  /** Adds steps, and returns the valid tokens. A step that an earlier attempt has stored is not stored again. */
  async append(entries: readonly LogEntry[]): Promise<Set<string>> {
    const rows = await this.db.query<{ token: string }>({ name: 'runs-append', text: APPEND }, [
      entries.map(({ fence }) => fence.rootId),
      entries.map(({ fence }) => fence.token),
      entries.map(({ run }) => run.id),
      entries.map(({ step }) => step?.seq ?? null),
      entries.map(({ step }) => JSON.stringify(step?.step ?? null)),
    ]);
    return tokens(rows);
  }

  /** Ends executions whose roots are already locked. Delegated runs that are still in progress are cancelled together with their root. */
  async end(entries: readonly LogEntry[]): Promise<EndedRun[]> {
    const rows = await this.db.query<EndedRow>({ name: 'runs-end', text: END }, [
      entries.map(({ run }) => run.id),
      entries.map(({ end }) => end?.state),
      entries.map(({ end }) => end?.waitingFor ?? null),
      entries.map(({ end }) => JSON.stringify(end?.result ?? null)),
      entries.map(({ end }) => JSON.stringify(end?.usage ?? {})),
    ]);
    return rows.map(toEndedRun);
  }
}

const APPEND = `
  WITH held AS (${LOCK}),
    entry AS (SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::integer[], $5::json[])
      AS entry (root_id, token, run_id, seq, step)),
    added AS (INSERT INTO run_step (run_id, seq, step)
      SELECT run_id, seq, step FROM entry JOIN held ON held.id = entry.root_id AND held.token = entry.token
      WHERE seq IS NOT NULL ON CONFLICT DO NOTHING)
  SELECT token FROM held`;

const END = `
  WITH ended AS (UPDATE run SET state = entry.state, state_at = clock_timestamp(), waiting_for = entry.waiting_for, result = entry.result,
      usage = entry.usage, finished_at = CASE WHEN entry.state <> 'waiting' THEN clock_timestamp() END,
      lease_owner = NULL, lease_token = NULL, lease_until = NULL
    FROM unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::json[])
      AS entry (id, state, waiting_for, result, usage)
    WHERE run.id = entry.id AND run.state = 'running' RETURNING run.*),
  left_over AS (UPDATE run SET state = 'cancelled', state_at = clock_timestamp(), finished_at = clock_timestamp()
    FROM ended WHERE ended.parent_id IS NULL AND run.root_id = ended.id AND run.parent_id IS NOT NULL
      AND run.state = 'running' AND ended.state <> 'waiting' RETURNING run.*)
  SELECT r.id, r.namespace, r.root_id AS "rootId", r.parent_id AS "parentId", r.agent_id AS "agentId", r.definition, r.revision,
    r.state, r.state_at AS "stateAt", r.created_at AS "createdAt", r.started_at AS "startedAt", r.finished_at AS "finishedAt",
    "isLeftOver", ${CHARGES_COLUMNS}
  FROM (SELECT *, false AS "isLeftOver" FROM ended UNION ALL SELECT *, true FROM left_over) AS r ${CHARGED}`;

type EndedRow = Pick<RunRow, keyof RunSubject | 'revision' | 'stateAt'> & ChargesRow & { readonly isLeftOver: boolean };

function toEndedRun(row: EndedRow): EndedRun {
  const { id, namespace, rootId, parentId, agentId, state, isLeftOver } = row;
  return {
    id,
    namespace,
    rootId,
    parentId,
    agentId,
    state,
    isLeftOver,
    stateAt: row.stateAt.toISOString(),
    charged: ownCharge(row),
    definition: definitionOf(row),
    ...timesOf(row),
  };
}

function tokens(rows: readonly { token: string }[]): Set<string> {
  return new Set(rows.map(({ token }) => token));
}
