import { Injectable } from '@nestjs/common';
import { Database, DEFAULT_NAMESPACE, PAGE_BYTES, ROWS_OF_ANY_SIZE } from '#rollcall/platform';
import { type AgentUsage, textPart } from '#rollcall/providers';
import { RUNTIME_OWNER } from '../../spending/run.reservations.js';
import type { SpendingAmount } from '../../spending/spending.js';
import type { RunFence } from '../execution/run.scope.js';
import type { StepUsage } from '../journal/run.usage.js';
import type { DecidedStep } from '../run.decision.js';
import type {
  ListedRun,
  Run,
  RunDecision,
  RunFacts,
  RunFilter,
  RunKey,
  RunSummary,
  RunTrace,
  StartRun,
  VisibleRuns,
} from '../run.js';
import { type ContentPreview, previewOf, resultPreviewOf } from '../run.preview.js';
import { type RunEnd, type RunResult, type RunStatus, statusesBefore, type WaitingFor } from '../run.status.js';
import type { RunStep, StoredStep } from '../run.step.js';
import type { RunLease } from './run-claim.store.js';
import {
  CHARGED,
  CHARGES_COLUMNS,
  type ChargesRow,
  FACTS_COLUMNS,
  type FactsRow,
  RUN_COLUMNS,
  type RunRow,
  SUMMARY_COLUMNS,
  subtreeCharge,
  type SummaryRow,
  toChargedRun,
  toChargedSummary,
  toFacts,
  toRun,
} from './run.row.js';

/** A run that does not exist yet. */
export type NewRun = Pick<
  Run,
  'id' | 'namespace' | 'rootId' | 'parentId' | 'depth' | 'retryOf' | 'target' | 'agentId' | 'definition' | 'input'
> &
  Pick<Run, 'limit' | 'createdBy' | 'redactAfterMs' | 'trace'> &
  Pick<StartRun, 'conversationId' | 'messageId' | 'a2a'> & {
    state: 'queued' | 'running';
    deadline: number | null;
    host: string | null;
    /** Absent: none. */
    plugins?: readonly string[];
  };

/** What a step of this run reports. */
export type OwnUsage = StepUsage & { readonly runId: string };

/** `at` is a text if the row is part of a JSON aggregate. */
interface StepRow {
  readonly seq: number;
  readonly at: Date | string;
  readonly step: RunStep;
}

export interface RunReading {
  readonly run: Run;
  readonly steps: readonly StoredStep[];
}

export interface RunMessages {
  readonly run: Run;
  /** The messages of the callers, in order. */
  readonly messages: readonly StoredStep[];
}

/** A run, and what the budgets were charged for it and its descendants. */
export interface TreeRun<Shown = Run> {
  readonly run: Shown;
  readonly subtree: SpendingAmount;
}

type ChargedRow = RunRow & ChargesRow;

export type QueueKey = Pick<Run, 'namespace' | 'createdBy'>;

/** How many runs are queued. */
interface QueuedRuns {
  readonly namespace: number;
  /** The runs of one credential in this namespace. */
  readonly credential: number;
}

/** How many open and recently finished runs there are. */
export interface RunCounts {
  readonly states: Partial<Record<RunStatus, number>>;
  /** The open runs that wait. */
  readonly waitingFor: Partial<Record<WaitingFor, number>>;
  /** The median time from the start to the end of the completed runs; null if there is none. */
  medianMs: number | null;
}

/** How many runs are not finished, and how long the oldest queued run has waited. */
export interface OpenRuns {
  readonly runs: Record<'queued' | 'running' | 'waiting', number>;
  readonly oldestQueuedMs: number;
}

/** Shorter than the time limit of a statement, so that the caller gets the error AGENT_BUSY. */
const LOCK_TIMEOUT = '2s';
const FREE = 'lease_owner = NULL, lease_token = NULL, lease_until = NULL';

const INSERT = `WITH r AS (INSERT INTO run (id, namespace, root_id, parent_id, depth, retry_of, state, target, agent_id, definition,
           revision, host, input, limit_tokens, limit_micro_usd, deadline, created_by, conversation_id, redact_after_ms,
           started_at, attempts, lease_owner, lease_token, lease_until, input_preview, a2a, plugins, trace)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, to_timestamp($16::float8 / 1000), $17, $18, $20,
           CASE WHEN $7 = 'running' THEN clock_timestamp() END, ($22::uuid IS NOT NULL)::integer, $21::uuid, $22::uuid,
           clock_timestamp() + $23 * interval '1 millisecond', $24, $25, $26, $27)
         ON CONFLICT (id) DO NOTHING RETURNING *),
       first AS (INSERT INTO run_step (run_id, seq, step) SELECT id, 1, $19 FROM r)
       SELECT ${RUN_COLUMNS} FROM r`;

/** A message of this size is shown as it is. */
const SMALL_BYTES = 1_024;

/** The redundant condition on the state lets Postgres use the index `run_open`. */
const QUEUED = `state = 'queued' AND state IN ('queued', 'running') AND parent_id IS NULL`;
const COUNT_QUEUED = `SELECT
  (SELECT count(*)::integer FROM (SELECT FROM run WHERE namespace = $1 AND ${QUEUED} LIMIT $3) AS n) AS namespace,
  (SELECT count(*)::integer FROM (SELECT FROM run WHERE namespace = $1 AND created_by = $2 AND ${QUEUED} LIMIT $4) AS c) AS credential`;

const RUN = `${RUN_COLUMNS}, ${CHARGES_COLUMNS}`;
const SUMMARY = `${SUMMARY_COLUMNS}, ${CHARGES_COLUMNS}`;
/** The condition of `VisibleRuns.startedBy`, a parameter that may be null. A delegated run belongs to the principal that started its root. */
const startedBy = (
  parameter: string,
): string => `(${parameter}::text IS NULL OR ${parameter} = CASE WHEN r.parent_id IS NULL
  THEN r.created_by ELSE (SELECT root.created_by FROM run AS root WHERE root.id = r.root_id) END)`;
/** Selects one run by a `RunKey`. */
const BY_KEY = `r.namespace = $1 AND r.id = $2 AND ${startedBy('$3')}`;
const FIND = `SELECT ${RUN} FROM run AS r ${CHARGED} WHERE ${BY_KEY}`;

/** The newest messages of the callers of each of these runs: up to 1 MB, and one more. A run may have many, and each may be large. */
const newestMessages = (ofRuns: string): string => `SELECT run_id, seq, at, step FROM (
    SELECT sent.*, sum(bytes) OVER newer - bytes AS newer_bytes FROM (
      SELECT run_id, seq, at, step, octet_length(step::text) AS bytes FROM run_step
      WHERE run_id ${ofRuns} AND step ->> 'type' = 'message') AS sent
    WINDOW newer AS (PARTITION BY run_id ORDER BY seq DESC)) AS sent WHERE newer_bytes <= ${PAGE_BYTES}`;

const WITH_MESSAGES = `SELECT ${RUN}, (SELECT coalesce(json_agg(json_build_object('seq', seq, 'at', at, 'step', step) ORDER BY seq), '[]')
  FROM (${newestMessages('= r.id')}) AS s) AS messages FROM run AS r ${CHARGED} WHERE ${BY_KEY}`;

const WITH_STEPS = `SELECT ${RUN}, (SELECT coalesce(json_agg(s ORDER BY seq), '[]') FROM (SELECT seq, at, step FROM run_step
  WHERE run_id = r.id AND seq > $4 ORDER BY seq LIMIT $5) AS s) AS steps FROM run AS r ${CHARGED} WHERE ${BY_KEY}`;

/** Reads one step after the other, and stops after the limit of a page, because the size of a step is known only when it is read. */
const PAGE_OF_STEPS = `WITH RECURSIVE page AS (
    (SELECT 1 AS place, seq, at, step, octet_length(step::text)::bigint AS bytes FROM run_step
      WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT 1)
    UNION ALL
    SELECT page.place + 1, following.seq, following.at, following.step, page.bytes + octet_length(following.step::text)
    FROM page CROSS JOIN LATERAL (SELECT seq, at, step FROM run_step WHERE run_id = $1 AND seq > page.seq ORDER BY seq LIMIT 1) AS following
    WHERE page.place < $3 AND (page.bytes <= $4 OR page.place < ${ROWS_OF_ANY_SIZE}))
  SELECT seq, at, step FROM page ORDER BY seq`;

/** Reads runs and their steps, and makes the changes that need no lease. Each change is one conditional statement. */
@Injectable()
export class RunStore {
  constructor(private readonly db: Database) {}

  /** Whether the calling code runs in a transaction. */
  get inTransaction(): boolean {
    return this.db.inTransaction;
  }

  /**
   * Adds a run and its first step, the input. With a lease, the run is already claimed. Returns undefined if the run already exists.
   */
  async insert(run: NewRun, lease?: RunLease): Promise<Run | undefined> {
    const { owner = null, token = null, ms = null } = lease ?? {};
    const preview = JSON.stringify(previewOf(run.input));
    const a2a = run.a2a ? JSON.stringify(run.a2a) : null;
    const trace = run.trace ? JSON.stringify(run.trace) : null;
    const values = [...valuesOf(run), owner, token, ms, preview, a2a, run.plugins ?? [], trace];
    const [row] = await this.db.query<RunRow>({ name: 'runs-insert', text: INSERT }, values);
    return row && toRun(row);
  }

  async find(key: RunKey): Promise<Run | undefined> {
    const [row] = await this.db.query<ChargedRow>({ name: 'runs-find', text: FIND }, valuesOfKey(key));
    return row && toChargedRun(row);
  }

  async exists(key: RunKey): Promise<boolean> {
    return (await this.db.query(`SELECT 1 FROM run AS r WHERE ${BY_KEY}`, valuesOfKey(key))).length > 0;
  }

  /** A run and the messages of its callers, both as of the same moment. */
  async withMessages(key: RunKey): Promise<RunMessages | undefined> {
    const statement = { name: 'runs-with-messages', text: WITH_MESSAGES };
    const [row] = await this.db.query<ChargedRow & { messages: StepRow[] }>(statement, valuesOfKey(key));
    return row && { run: toChargedRun(row), messages: row.messages.map((step) => toStoredStep(key.id, step)) };
  }

  /** A run and its steps after the step `after`, both as of the same moment. */
  async withSteps(key: RunKey, after: number, limit: number): Promise<RunReading | undefined> {
    const statement = { name: 'runs-with-steps', text: WITH_STEPS };
    const [row] = await this.db.query<ChargedRow & { steps: StepRow[] }>(statement, [
      ...valuesOfKey(key),
      after,
      limit,
    ]);
    return row && { run: toChargedRun(row), steps: row.steps.map((step) => toStoredStep(key.id, step)) };
  }

  /** Locks the run until the transaction ends. */
  async lock(key: RunKey): Promise<Run | undefined> {
    const sql = `SELECT ${RUN_COLUMNS} FROM run AS r WHERE ${BY_KEY} FOR NO KEY UPDATE`;
    const [row] = await this.db.query<RunRow>(sql, valuesOfKey(key));
    return row && toRun(row);
  }

  /** The ids of those of these runs that the caller sees. */
  async visibleAmong({ namespace, startedBy: by }: VisibleRuns, ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const sql = `SELECT r.id FROM run AS r WHERE r.namespace = $1 AND r.id = ANY ($2) AND ${startedBy('$3')}`;
    return new Set((await this.db.query<{ id: string }>(sql, [namespace, ids, by ?? null])).map(({ id }) => id));
  }

  /** The result as it is stored: the stored result of a queued run contains the calls that still wait for a decision. */
  async storedResult(id: string): Promise<RunResult | null> {
    const [row] = await this.db.query<{ result: RunResult | null }>('SELECT result FROM run WHERE id = $1', [id]);
    return row?.result ?? null;
  }

  /** Newest first; `before` is the position of the last run of the previous page. */
  async page(filter: RunFilter, limit: number, before?: number): Promise<ListedRun[]> {
    const { namespace, states, agentId, definition, rootId, from, to, startedBy: by } = filter;
    const rows = await this.db.query<SummaryRow & ChargesRow>(
      `SELECT ${SUMMARY} FROM (SELECT * FROM run AS r WHERE namespace = $1 AND ($2::bigint IS NULL OR seq < $2)
         AND ($4::text[] IS NULL OR state = ANY ($4)) AND ($5::text IS NULL OR agent_id = $5)
         AND ($6::text IS NULL OR definition = $6) AND CASE WHEN $7::text IS NULL
         THEN parent_id IS NULL AND ($10::text IS NULL OR created_by = $10) ELSE root_id = $7 AND ${startedBy('$10')} END
         AND ($8::timestamptz IS NULL OR created_at >= $8) AND ($9::timestamptz IS NULL OR created_at < $9)
       ORDER BY seq DESC LIMIT $3) AS r ${CHARGED} ORDER BY r.seq DESC`,
      [namespace, before, limit, states, agentId, definition, rootId, from, to, by].map((value) => value ?? null),
    );
    return rows.map((row) => Object.assign(toChargedSummary(row), { seq: Number(row.seq) }));
  }

  /** Records the revision with which the run is executed. This has an effect only if the lease is valid. */
  async setRevision({ rootId, token }: RunFence, revision: number): Promise<void> {
    const sql = 'UPDATE run SET revision = $3 WHERE id = $1 AND lease_token = $2';
    await this.db.query(sql, [rootId, token, revision]);
  }

  /** Records the trace of an execution that begins. This has an effect only if the lease is valid. */
  async setTrace({ rootId, token }: RunFence, trace: RunTrace): Promise<void> {
    const sql = 'UPDATE run SET trace = $3 WHERE id = $1 AND lease_token = $2';
    await this.db.query(sql, [rootId, token, JSON.stringify(trace)]);
  }

  /** Those of the runs that are finished. */
  async finishedAmong(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const sql = 'SELECT id FROM run WHERE id = ANY ($1) AND finished_at IS NOT NULL';
    return new Set((await this.db.query<{ id: string }>(sql, [ids])).map(({ id }) => id));
  }

  /** All runs of a tree, the root first. */
  async tree(rootId: string): Promise<TreeRun[]> {
    const sql = `SELECT ${RUN} FROM run AS r ${CHARGED} WHERE r.root_id = $1 ORDER BY r.seq`;
    const rows = await this.db.query<ChargedRow>(sql, [rootId]);
    return rows.map((row) => ({ run: toChargedRun(row), subtree: subtreeCharge(row) }));
  }

  /** Like `tree`, with previews of the contents. */
  async treeSummaries(rootId: string): Promise<TreeRun<RunSummary>[]> {
    const sql = `SELECT ${SUMMARY} FROM run AS r ${CHARGED} WHERE r.root_id = $1 ORDER BY r.seq`;
    const rows = await this.db.query<SummaryRow & ChargesRow>(sql, [rootId]);
    return rows.map((row) => ({ run: toChargedSummary(row), subtree: subtreeCharge(row) }));
  }

  /** At most `limit` steps. Ends earlier when their size reaches the limit of a page, so the database reads no more than a page. */
  async pageOfSteps(runId: string, after: number, limit: number): Promise<StoredStep[]> {
    const rows = await this.db.query<StepRow>(PAGE_OF_STEPS, [runId, after, limit, PAGE_BYTES]);
    return rows.map((row) => toStoredStep(runId, row));
  }

  async steps(runId: string, after: number, limit: number): Promise<StoredStep[]> {
    const sql = 'SELECT seq, at, step FROM run_step WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3';
    const rows = await this.db.query<StepRow>(sql, [runId, after, limit]);
    return rows.map((row) => toStoredStep(runId, row));
  }

  /** The last reply of the model and the steps after it. */
  async lastTurn(runId: string): Promise<RunStep[]> {
    const rows = await this.db.query<Pick<StepRow, 'step'>>(
      `SELECT step FROM run_step WHERE run_id = $1 AND seq >=
         (SELECT max(seq) FROM run_step WHERE run_id = $1 AND step ->> 'type' = 'model-replied') ORDER BY seq`,
      [runId],
    );
    return rows.map(({ step }) => step);
  }

  /** The first message of each of these runs. The parts of a large one are replaced by the beginning of its text. */
  async openingMessages(runIds: readonly string[]): Promise<StoredStep[]> {
    const rows = await this.db.query<StepRow & { runId: string; preview: ContentPreview | null }>(
      `SELECT s.run_id AS "runId", s.seq, s.at, r.input_preview AS preview,
         CASE WHEN r.input_preview IS NULL OR (r.input_preview ->> 'bytes')::bigint <= ${SMALL_BYTES} THEN s.step
           ELSE json_build_object('type', 'message', 'messageId', s.step -> 'messageId') END AS step
       FROM run AS r JOIN run_step AS s ON s.run_id = r.id AND s.seq = 1 WHERE r.id = ANY ($1)`,
      [runIds],
    );
    return rows.map(({ runId, preview, ...row }) =>
      toStoredStep(runId, { ...row, step: openingOf(row.step, preview) }),
    );
  }

  /** The newest messages of the callers of these runs, in order: up to 1 MB of each run, and one more. */
  async messages(runIds: readonly string[]): Promise<StoredStep[]> {
    const rows = await this.db.query<StepRow & { runId: string }>(
      `SELECT run_id AS "runId", seq, at, step FROM (${newestMessages('= ANY ($1)')}) AS s ORDER BY run_id, seq`,
      [runIds],
    );
    return rows.map((row) => toStoredStep(row.runId, row));
  }

  /**
   * Adds a step to a waiting run or to one of its descendants, and puts the run into the queue, with the same timestamp. The caller
   * has locked the run.
   */
  async continue(id: string, { runId, step, result }: DecidedStep): Promise<void> {
    await this.db.query(
      `WITH moment AS MATERIALIZED (SELECT clock_timestamp() AS now),
       added AS (INSERT INTO run_step (run_id, seq, at, step)
         SELECT $3, coalesce((SELECT max(seq) FROM run_step WHERE run_id = $3), 0) + 1, moment.now, $2 FROM moment)
       UPDATE run SET state = 'queued', state_at = moment.now, waiting_for = NULL, queued_at = moment.now,
         result = $4, result_preview = $5, crashes_in_step = 0, ${FREE} FROM moment WHERE id = $1`,
      [id, JSON.stringify(step), runId, JSON.stringify(result), result && JSON.stringify(resultPreviewOf(result))],
    );
  }

  /** The decision that answered this question, in any run of the tree. */
  async findDecision(
    rootId: string,
    { callId, inputHash }: Pick<RunDecision, 'callId' | 'inputHash'>,
  ): Promise<RunStep | undefined> {
    const [row] = await this.db.query<{ step: RunStep }>(
      `SELECT s.step FROM run AS r JOIN run_step AS s ON s.run_id = r.id
       WHERE r.root_id = $1 AND s.step ->> 'callId' = $2 AND s.step ->> 'inputHash' = $3
         AND s.step ->> 'type' IN ('approval-decided', 'tool-finished')
       ORDER BY s.at DESC, s.seq DESC LIMIT 1`,
      [rootId, callId, inputHash],
    );
    return row?.step;
  }

  /** Cancels all runs of these trees that are not finished, and takes the leases from the replicas that execute them. */
  async cancelTrees(rootIds: readonly string[]): Promise<RunFacts[]> {
    const rows = await this.db.query<FactsRow>(
      `UPDATE run AS r SET state = 'cancelled', state_at = clock_timestamp(), waiting_for = NULL, finished_at = clock_timestamp(), ${FREE}
       WHERE root_id = ANY ($1) AND state = ANY ($2) RETURNING ${FACTS_COLUMNS}`,
      [rootIds, statusesBefore('cancel')],
    );
    return rows.map(toFacts);
  }

  /** What the stored steps of these runs report. */
  async reportedUsage(ids: readonly string[]): Promise<OwnUsage[]> {
    return await this.db.query<OwnUsage>(
      `SELECT run_id AS "runId", coalesce(step -> 'reply' -> 'usage', step -> 'result' -> 'usage', step -> 'usage') AS usage,
         step -> 'charges' AS charges
       FROM run_step WHERE run_id = ANY ($1) AND step ->> 'type' IN ('model-replied', 'context-summarised', 'finished')
       ORDER BY run_id, seq`,
      [ids],
    );
  }

  /** Finished runs that still have reservations. */
  async finishedWithReservations(sinceMs: number, limit: number): Promise<RunKey[]> {
    return await this.db.query<RunKey>(
      `SELECT DISTINCT r.namespace, r.id FROM budget_reservation AS held JOIN run AS r ON r.id = substring(held.run_id FROM '[^/]*$')
       WHERE held.state = 'held' AND r.finished_at < clock_timestamp() - $1 * interval '1 millisecond'
         AND held.owner = CASE r.namespace WHEN $3 THEN '' ELSE r.namespace || '/' END || $4 LIMIT $2`,
      [sinceMs, limit, DEFAULT_NAMESPACE, RUNTIME_OWNER],
    );
  }

  async setUsage(usages: ReadonlyMap<string, AgentUsage>): Promise<void> {
    await this.db.query(
      `UPDATE run SET usage = entry.usage FROM unnest($1::text[], $2::json[]) AS entry (id, usage) WHERE run.id = entry.id`,
      [[...usages.keys()], [...usages.values()].map((usage) => JSON.stringify(usage))],
    );
  }

  /** Ends waiting runs whose deadline has passed, with their descendants. */
  async expire({ state, result }: RunEnd, limit: number): Promise<Run[]> {
    const rows = await this.db.query<RunRow>(
      `WITH late AS (SELECT id FROM run WHERE state = 'waiting' AND deadline < clock_timestamp() AND parent_id IS NULL
         LIMIT $3 FOR UPDATE SKIP LOCKED)
       UPDATE run AS r SET state = $1, state_at = clock_timestamp(), waiting_for = NULL, result = $2, result_preview = $4, finished_at = clock_timestamp()
       FROM late WHERE r.root_id = late.id AND r.state IN ('waiting', 'running') RETURNING ${RUN_COLUMNS}`,
      [state, JSON.stringify(result), limit, JSON.stringify(resultPreviewOf(result))],
    );
    return rows.map(toRun);
  }

  /** Other starts of this agent's runs wait here until the transaction ends. Rejects with `DatabaseBusyError` after LOCK_TIMEOUT. */
  async lockStarts(namespace: string, agentId: string): Promise<void> {
    const key = `rollcall.runs:${namespace}/${agentId}`;
    await Promise.all([
      this.db.query(`SELECT set_config('lock_timeout', $1, true)`, [LOCK_TIMEOUT]),
      this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [key]),
    ]);
  }

  /** Counts the queued runs of a namespace, and of one credential in it. Stops counting at these limits. */
  async countQueued({ namespace, createdBy }: QueueKey, limits: QueuedRuns): Promise<QueuedRuns> {
    const values = [namespace, createdBy, limits.namespace, limits.credential];
    const [row] = await this.db.query<QueuedRuns>({ name: 'runs-queued', text: COUNT_QUEUED }, values);
    return row ?? { namespace: 0, credential: 0 };
  }

  /** Counts the queued and running runs of an agent. */
  async countActive(namespace: string, agentId: string): Promise<number> {
    const [row] = await this.db.query<{ runs: number }>(
      `SELECT count(*)::integer AS runs FROM run
       WHERE namespace = $1 AND agent_id = $2 AND state IN ('queued', 'running') AND parent_id IS NULL`,
      [namespace, agentId],
    );
    return row?.runs ?? 0;
  }

  /** The unfinished roots of all namespaces. Delegated runs are executed together with their roots. */
  async countOpen(): Promise<OpenRuns> {
    const rows = await this.db.query<{ state: keyof OpenRuns['runs']; runs: number; oldest: number | null }>(
      `SELECT state, count(*)::integer AS runs, extract(epoch FROM clock_timestamp() - min(queued_at))::float8 AS oldest
         FROM run WHERE state IN ('queued', 'running') AND parent_id IS NULL GROUP BY state
       UNION ALL SELECT 'waiting', count(*)::integer, NULL FROM run WHERE state = 'waiting' AND parent_id IS NULL`,
    );
    const runs = { queued: 0, running: 0, waiting: 0 };
    for (const row of rows) runs[row.state] = row.runs;
    return { runs, oldestQueuedMs: (rows.find(({ state }) => state === 'queued')?.oldest ?? 0) * 1_000 };
  }

  /** Counts the open runs, and those that finished in the last `finishedMs`. Delegated runs are not counted. */
  async count({ namespace, startedBy: owner }: VisibleRuns, finishedMs: number): Promise<RunCounts> {
    const visible = `namespace = $1 AND ($2::text IS NULL OR created_by = $2) AND parent_id IS NULL`;
    const rows = await this.db.query<{
      state: RunStatus;
      waitingFor: WaitingFor | null;
      runs: number;
      medianMs: number;
    }>(
      `SELECT state, waiting_for AS "waitingFor", count(*)::integer AS runs, NULL::float8 AS "medianMs" FROM run
       WHERE ${visible} AND state IN ('queued', 'running', 'waiting') GROUP BY 1, 2
       UNION ALL SELECT state, NULL, count(*)::integer, (percentile_cont(0.5) WITHIN GROUP
         (ORDER BY extract(epoch FROM finished_at - created_at)) * 1000)::float8 FROM run
       WHERE ${visible} AND finished_at > clock_timestamp() - $3 * interval '1 millisecond' GROUP BY 1`,
      [namespace, owner ?? null, finishedMs],
    );
    const counts: RunCounts = { states: {}, waitingFor: {}, medianMs: null };
    for (const { state, waitingFor, runs, medianMs } of rows) {
      counts.states[state] = (counts.states[state] ?? 0) + runs;
      if (waitingFor) counts.waitingFor[waitingFor] = (counts.waitingFor[waitingFor] ?? 0) + runs;
      if (state === 'completed') counts.medianMs = medianMs;
    }
    return counts;
  }

  async countUnfinished(namespace: string): Promise<number> {
    const sql = 'SELECT count(*)::integer AS runs FROM run WHERE namespace = $1 AND finished_at IS NULL';
    const [row] = await this.db.query<{ runs: number }>(sql, [namespace]);
    return row?.runs ?? 0;
  }

  /** Deletes trees that finished longer ago than this time. Returns the number of trees. */
  async prune(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query<{ trees: number }>(
      `WITH old AS (SELECT id FROM run WHERE parent_id IS NULL
           AND finished_at < clock_timestamp() - $1 * interval '1 millisecond'
         ORDER BY finished_at LIMIT $2 FOR UPDATE SKIP LOCKED),
       deleted AS (DELETE FROM run WHERE root_id IN (SELECT id FROM old) RETURNING id),
       steps AS (DELETE FROM run_step WHERE run_id IN (SELECT id FROM deleted)),
       tasks AS (DELETE FROM agent_task WHERE run_id IN (SELECT id FROM deleted))
       SELECT count(*)::integer AS trees FROM old`,
      [keepMs, limit],
    );
    return rows[0]?.trees ?? 0;
  }
}

function valuesOfKey({ namespace, id, startedBy: by }: RunKey): unknown[] {
  return [namespace, id, by ?? null];
}

function openingOf(step: RunStep, preview: ContentPreview | null): RunStep {
  if (step.type !== 'message') return step;
  const {
    type,
    parts = [textPart(preview?.text ?? '')],
    messageId,
  } = step as Partial<typeof step> & { type: 'message' };
  const shown = previewOf(parts);
  const isSmall = shown.bytes <= SMALL_BYTES;
  return { type, parts: isSmall ? parts : [textPart(shown.text)], ...(messageId && { messageId }) };
}

function toStoredStep(runId: string, { seq, at, step }: StepRow): StoredStep {
  return { runId, seq, at: new Date(at).toISOString(), step };
}

function valuesOf(run: NewRun): unknown[] {
  const { id, namespace, rootId, parentId, depth, retryOf, state, agentId, definition, host, limit } = run;
  const place = [id, namespace, rootId, parentId, depth, retryOf, state];
  const agent = [JSON.stringify(run.target), agentId, definition?.name ?? null, definition?.revision ?? null, host];
  const limits = [limit.tokens, limit.microUsd, run.deadline];
  const { messageId, a2a, conversationId = null } = run;
  const given = { ...(messageId !== undefined && { messageId }), ...(a2a && { a2a }) };
  const first: RunStep = { type: 'message', parts: run.input, ...given };
  return [
    ...place,
    ...agent,
    JSON.stringify(run.input),
    ...limits,
    run.createdBy,
    conversationId,
    JSON.stringify(first),
    run.redactAfterMs,
  ];
}
