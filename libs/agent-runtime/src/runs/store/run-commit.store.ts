import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { AgentUsage } from '#rollcall/providers';
import type { LedgerOp } from '#rollcall/registry';
import type { RunFence } from '../execution/run.scope.js';
import type { RunSubject } from '../journal/run.events.js';
import type { Run } from '../run.js';
import { resultPreviewOf } from '../run.preview.js';
import type { RunEnd, RunResult, WaitingFor } from '../run.status.js';
import type { RunStep } from '../run.step.js';
import type { NewTask } from '../../tasks/task.js';
import { definitionOf, type RunRow, timesOf } from './run.row.js';

/** A step and its position in the run. */
export interface NumberedStep {
  readonly seq: number;
  readonly step: RunStep;
}

/** What one point of a run writes. All of it commits together, or nothing does. */
export interface RunWrite {
  readonly fence: RunFence;
  readonly run: Run;
  readonly steps: readonly NumberedStep[];
  readonly ops: readonly LedgerOp[];
  /** A step that is stored only if no operation is rejected. */
  readonly begins?: NumberedStep;
  /** The run continues, but waits for something else than its caller, or no longer waits for it. */
  readonly waits?: { readonly waitingFor: WaitingFor | null; readonly result: RunResult | null };
  /** The task of the call that `begins` announces. */
  readonly task?: NewTask;
  readonly end?: RunEnd & {
    readonly usage: AgentUsage;
    readonly mayHaveDelegated: boolean;
    /** Whether the run may have a task, which ends with it. */
    readonly hasTask: boolean;
  };
}

/** The roots whose lease is valid. */
export interface LockedRoots {
  readonly tokens: ReadonlySet<string>;
  /** The runs in these trees that are to be ended and still run. */
  readonly running: ReadonlySet<string>;
  /** The time of the database. */
  readonly now: Date;
}

/** A run to end. */
interface EndingRun {
  readonly run: Pick<RunSubject, 'id'>;
  readonly end: NonNullable<RunWrite['end']>;
}

/** The writes of the replica that executes a run. Each write has an effect only if the lease of the tree is valid. */
@Injectable()
export class RunCommitStore {
  constructor(private readonly db: Database) {}

  /** Locks the roots until the transaction ends. */
  async lock(fences: readonly RunFence[], ending: readonly string[]): Promise<LockedRoots> {
    const parameters = [fences.map(({ rootId }) => rootId), fences.map(({ token }) => token), ending];
    const rows = await this.db.query<LockedRow>({ name: 'runs-lock', text: LOCK_ALL }, parameters);
    return {
      tokens: new Set(rows.map(({ token }) => token)),
      running: new Set(rows.flatMap(({ running }) => running)),
      now: rows[0]?.now ?? new Date(0),
    };
  }

  /** Adds steps in a statement of its own, and returns the valid tokens. A step that an earlier attempt has stored is not stored again. */
  async append(writes: readonly RunWrite[]): Promise<ReadonlySet<string>> {
    const all = writes.flatMap(({ fence, run, steps }) => steps.map((one) => ({ fence, runId: run.id, ...one })));
    const rows = await this.db.query<{ token: string }>({ name: 'runs-append', text: APPEND }, [
      all.map(({ fence }) => fence.rootId),
      all.map(({ fence }) => fence.token),
      all.map(({ runId }) => runId),
      all.map(({ seq }) => seq),
      all.map(({ step }) => JSON.stringify(step)),
    ]);
    return new Set(rows.map(({ token }) => token));
  }

  /** Adds steps of trees that are locked, together with the COMMIT. */
  insertSteps(steps: readonly (NumberedStep & { readonly runId: string })[], at: Date): void {
    if (steps.length === 0) return;
    this.db.sendWithCommit({
      sql: { name: 'runs-insert-steps', text: INSERT },
      parameters: [
        steps.map(({ runId }) => runId),
        steps.map(({ seq }) => seq),
        steps.map(({ step }) => JSON.stringify(step)),
        at,
      ],
    });
  }

  /** Records what running runs of locked trees wait for, together with the COMMIT. */
  waitWithCommit(waits: readonly (NonNullable<RunWrite['waits']> & { readonly runId: string })[]): void {
    if (waits.length === 0) return;
    this.db.sendWithCommit({
      sql: { name: 'runs-wait', text: WAIT },
      parameters: [
        waits.map(({ runId }) => runId),
        waits.map(({ waitingFor }) => waitingFor),
        waits.map(({ result }) => JSON.stringify(result)),
        waits.map(({ result }) => result && JSON.stringify(resultPreviewOf(result))),
      ],
    });
  }

  /** Ends executions whose roots are locked. Returns delegated runs that were still in progress and are cancelled with their root. */
  async end(ends: readonly EndingRun[], at: Date): Promise<RunSubject[]> {
    return (await this.db.query<EndedRow>(END, endParameters(ends, at))).map(toSubject);
  }

  /** Like `end`, for runs that have no delegated runs in progress. */
  endWithCommit(ends: readonly EndingRun[], at: Date): void {
    this.db.sendWithCommit({ sql: END, parameters: endParameters(ends, at) });
  }
}

interface LockedRow {
  readonly token: string;
  readonly running: string[];
  readonly now: Date;
}

/** Always locks the rows of the roots in the same order, and before the rows of delegated runs. */
const LOCK = 'WHERE run.id = ANY ($1) AND run.lease_token = ANY ($2) ORDER BY run.id FOR NO KEY UPDATE';

const LOCK_ALL = `SELECT run.lease_token AS token, clock_timestamp() AS now,
    ARRAY(SELECT e.id FROM run AS e WHERE e.id = ANY ($3) AND e.root_id = run.id AND e.state = 'running') AS running
  FROM run ${LOCK}`;

const APPEND = `
  WITH held AS (SELECT run.id, run.lease_token AS token FROM run ${LOCK}),
    entry AS (SELECT * FROM unnest($1::text[], $2::uuid[], $3::text[], $4::integer[], $5::json[])
      AS entry (root_id, token, run_id, seq, step)),
    added AS (INSERT INTO run_step (run_id, seq, step)
      SELECT run_id, seq, step FROM entry JOIN held ON held.id = entry.root_id AND held.token = entry.token
      ON CONFLICT DO NOTHING)
  SELECT token FROM held`;

const INSERT = `INSERT INTO run_step (run_id, seq, step, at)
  SELECT run_id, seq, step, $4::timestamptz FROM unnest($1::text[], $2::integer[], $3::json[]) AS entry (run_id, seq, step)
  ON CONFLICT DO NOTHING`;

const WAIT = `UPDATE run SET waiting_for = entry.waiting_for, result = nullif(entry.result::text, 'null')::json,
    result_preview = entry.result_preview
  FROM unnest($1::text[], $2::text[], $3::json[], $4::json[]) AS entry (id, waiting_for, result, result_preview)
  WHERE run.id = entry.id AND run.state = 'running'`;

const END = {
  name: 'runs-end',
  text: `
  WITH ended AS (UPDATE run SET state = entry.state, state_at = $6::timestamptz, waiting_for = entry.waiting_for,
      result = entry.result, result_preview = entry.result_preview, usage = entry.usage,
      finished_at = CASE WHEN entry.state <> 'waiting' THEN $6::timestamptz END,
      lease_owner = NULL, lease_token = NULL, lease_until = NULL
    FROM unnest($1::text[], $2::text[], $3::text[], $4::json[], $5::json[], $7::json[])
      AS entry (id, state, waiting_for, result, usage, result_preview)
    WHERE run.id = entry.id AND run.state = 'running' RETURNING run.*),
  left_over AS (UPDATE run SET state = 'cancelled', state_at = $6::timestamptz, finished_at = $6::timestamptz
    FROM ended WHERE ended.parent_id IS NULL AND run.root_id = ended.id AND run.parent_id IS NOT NULL
      AND run.state = 'running' AND ended.state <> 'waiting' RETURNING run.*)
  SELECT id, namespace, root_id AS "rootId", parent_id AS "parentId", agent_id AS "agentId", definition, revision, state,
    created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt" FROM left_over`,
};

type EndedRow = Pick<RunRow, keyof RunSubject | 'revision'>;

function endParameters(ends: readonly EndingRun[], at: Date): unknown[] {
  return [
    ends.map(({ run }) => run.id),
    ends.map(({ end }) => end.state),
    ends.map(({ end }) => end.waitingFor ?? null),
    ends.map(({ end }) => JSON.stringify(end.result)),
    ends.map(({ end }) => JSON.stringify(end.usage)),
    at,
    ends.map(({ end }) => JSON.stringify(resultPreviewOf(end.result))),
  ];
}

function toSubject(row: EndedRow): RunSubject {
  const { id, namespace, rootId, parentId, agentId, state } = row;
  return { id, namespace, rootId, parentId, agentId, state, definition: definitionOf(row), ...timesOf(row) };
}
