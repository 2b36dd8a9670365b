import { Injectable } from '@nestjs/common';
import { Database, PAGE_BYTES, ROWS_OF_ANY_SIZE } from '#rollcall/platform';
import type { Run, VisibleRuns } from '../runs/run.js';
import type { RunStep } from '../runs/run.step.js';
import type { SpendingAmount } from '../spending/spending.js';
import {
  CHARGED,
  CHARGES_COLUMNS,
  type ChargesRow,
  RUN_COLUMNS,
  type RunRow,
  toChargedRun,
} from '../runs/store/run.row.js';
import type { Conversation, ConversationKey, ConversationQuery } from './conversation.js';
import type { EarlierRun } from './earlier.messages.js';

type Row = Omit<Conversation, 'createdAt' | 'lastRunAt'> & { readonly createdAt: Date; readonly lastRunAt: Date };

/** A run with its position in the order of creation. */
export type SequencedRun = Run & { readonly seq: number };

/** Where the runs before another run of a conversation are read. */
export interface EarlierPosition {
  /** The run that continues the conversation. */
  readonly run: Pick<Run, 'id' | 'namespace' | 'createdBy' | 'conversationId' | 'agentId'>;
  /** The `seq` of the last run that was read. */
  readonly before?: string;
}

/** A finished run of the conversation, without its steps. */
interface EarlierHead extends Omit<EarlierRun, 'steps'> {
  readonly seq: string;
  /** About how large its steps are in the database. */
  readonly bytes: number;
}

const OPEN = `SELECT count(*)::integer FROM run AS r WHERE r.namespace = c.namespace AND r.created_by = c.created_by
  AND r.conversation_id = c.id AND r.finished_at IS NULL`;
const COLUMNS = `c.seq::float8 AS seq, c.namespace, c.created_by AS "createdBy", c.id, c.agent_id AS "agentId", c.runs,
  (${OPEN}) AS "openRuns", c.created_at AS "createdAt", c.last_run_at AS "lastRunAt"`;
const KEY = 'namespace = $1 AND created_by = $2 AND id = $3';

/** A run that belongs to no conversation yet, and has the id of the conversation: it becomes the first run of it. */
const FIRST = `id = $3 AND namespace = $1 AND created_by = $2 AND parent_id IS NULL AND conversation_id IS NULL
  AND redacted_at IS NULL AND redact_after_ms IS DISTINCT FROM 0`;

const JOIN = `
  WITH joined AS (INSERT INTO conversation (namespace, created_by, id, agent_id, runs, workspace_id)
      SELECT $1, $2, $3, $4, 1 + count(*), coalesce(min(id), gen_random_uuid()::text) FROM run WHERE ${FIRST}
      ON CONFLICT (namespace, created_by, id) DO UPDATE
        SET runs = conversation.runs + 1, agent_id = excluded.agent_id, last_run_at = clock_timestamp()
      RETURNING (xmax = 0) AS is_new)
  UPDATE run SET conversation_id = run.id FROM joined WHERE is_new AND ${FIRST}`;

/** In a statement of its own, after the lock: its snapshot contains the runs that were stored while the lock was awaited. */
const HAS_OPEN = `SELECT 1 FROM run WHERE namespace = $1 AND created_by = $2 AND conversation_id = $3 AND finished_at IS NULL LIMIT 1`;

const EARLIER = `SELECT r.seq, r.id, r.retry_of AS "retryOf", r.redacted_at IS NOT NULL AS "isRedacted",
    (SELECT coalesce(sum(pg_column_size(step)), 0)::float8 FROM run_step WHERE run_id = r.id) AS bytes
  FROM run AS r WHERE r.namespace = $1 AND r.created_by = $2 AND r.conversation_id = $3 AND r.agent_id = $4 AND r.parent_id IS NULL
    AND r.started_at IS NOT NULL AND r.seq < coalesce($6::bigint, (SELECT seq FROM run WHERE id = $5))
  ORDER BY r.seq DESC LIMIT $7`;

const OLDEST = `SELECT r.id FROM run AS r WHERE r.namespace = $1 AND r.created_by = $2 AND r.conversation_id = $3 AND r.agent_id = $4
    AND r.parent_id IS NULL AND r.started_at IS NOT NULL AND r.redacted_at IS NULL ORDER BY r.seq LIMIT 1`;

const NAMED_BY_AGENT = `SELECT s.step -> 'result' ->> 'conversationId' AS id FROM run AS r JOIN run_step AS s ON s.run_id = r.id
  WHERE r.namespace = $1 AND r.created_by = $2 AND r.conversation_id = $3 AND r.agent_id = $4 AND r.parent_id IS NULL
    AND r.seq < (SELECT seq FROM run WHERE id = $5) AND s.step ->> 'type' = 'finished'
    AND s.step -> 'result' ->> 'outcome' <> 'input-required' AND s.step -> 'result' -> 'conversationId' IS NOT NULL
  ORDER BY r.seq DESC, s.seq DESC LIMIT 1`;

const RUN_OF_CONVERSATION = `SELECT id, seq, octet_length(input::text)::bigint + coalesce(octet_length(result::text), 0) AS bytes FROM run
  WHERE namespace = $1 AND created_by = $2 AND conversation_id = $3`;

/** Reads one run after the other, newest first, and stops after the limit of a page, because the size of a run is known only when it is read. */
const PAGE_OF_RUNS = `WITH RECURSIVE page AS (
    (SELECT 1 AS place, newest.* FROM (${RUN_OF_CONVERSATION} AND ($5::bigint IS NULL OR seq < $5) ORDER BY seq DESC LIMIT 1) AS newest)
    UNION ALL
    SELECT page.place + 1, earlier.id, earlier.seq, page.bytes + earlier.bytes
    FROM page CROSS JOIN LATERAL (${RUN_OF_CONVERSATION} AND run.seq < page.seq ORDER BY seq DESC LIMIT 1) AS earlier
    WHERE page.place < $4 AND (page.bytes <= ${PAGE_BYTES} OR page.place < ${ROWS_OF_ANY_SIZE}))
  SELECT ${RUN_COLUMNS}, ${CHARGES_COLUMNS} FROM page JOIN run AS r ON r.id = page.id ${CHARGED} ORDER BY r.seq DESC`;

/** The rows of conversations, and what a run needs to know about the runs before it. */
@Injectable()
export class ConversationStore {
  constructor(private readonly db: Database) {}

  /**
   * Adds a run to its conversation, which begins with it if it does not exist. Other runs of the conversation cannot be added before
   * the transaction ends. Returns whether it is the turn of the run.
   */
  async join({ namespace, createdBy, id }: ConversationKey, agentId: string): Promise<boolean> {
    const key = [namespace, createdBy, id];
    const [, open] = await Promise.all([
      this.db.query({ name: 'conversations-join', text: JOIN }, [...key, agentId]),
      this.db.query({ name: 'conversations-open', text: HAS_OPEN }, key),
    ]);
    return open.length === 0;
  }

  async exists({ namespace, createdBy, id }: ConversationKey): Promise<boolean> {
    return (await this.db.query(`SELECT 1 FROM conversation WHERE ${KEY}`, [namespace, createdBy, id])).length > 0;
  }

  async find({ namespace, startedBy, id, createdBy, by }: ConversationQuery): Promise<Conversation | undefined> {
    const [row] = await this.db.query<Row>(
      `SELECT ${COLUMNS} FROM conversation AS c WHERE c.namespace = $1 AND c.id = $2 AND ($3::text IS NULL OR c.created_by = $3)
         AND ($4::text IS NULL OR c.created_by = $4) ORDER BY (c.created_by = $5) DESC, c.seq LIMIT 1`,
      [namespace, id, startedBy ?? null, createdBy ?? null, by],
    );
    return row && toConversation(row);
  }

  /** Newest first; `before` is the position of the last conversation of the previous page. */
  async page({ namespace, startedBy }: VisibleRuns, limit: number, before?: number): Promise<Conversation[]> {
    const rows = await this.db.query<Row>(
      `SELECT ${COLUMNS} FROM conversation AS c WHERE c.namespace = $1 AND ($2::text IS NULL OR c.created_by = $2)
         AND ($4::bigint IS NULL OR c.seq < $4) ORDER BY c.seq DESC LIMIT $3`,
      [namespace, startedBy ?? null, limit, before ?? null],
    );
    return rows.map(toConversation);
  }

  /** Newest first; `before` is the position of the last run of the previous page. There are fewer than `limit` if they are large. */
  async runs({ namespace, createdBy, id }: ConversationKey, limit: number, before?: number): Promise<SequencedRun[]> {
    const rows = await this.db.query<RunRow & ChargesRow>(PAGE_OF_RUNS, [
      namespace,
      createdBy,
      id,
      limit,
      before ?? null,
    ]);
    return rows.map((row) => Object.assign(toChargedRun(row), { seq: Number(row.seq) }));
  }

  /** What the runs of the conversation and their descendants were charged. */
  async cost({ namespace, createdBy, id }: ConversationKey): Promise<SpendingAmount> {
    const [row] = await this.db.query<SpendingAmount>(
      `SELECT coalesce(sum(b.used_tokens), 0)::float8 AS tokens, coalesce(sum(b.used_micro_usd), 0)::float8 AS "microUsd"
       FROM run AS r ${CHARGED} WHERE r.namespace = $1 AND r.created_by = $2 AND r.conversation_id = $3 AND r.parent_id IS NULL`,
      [namespace, createdBy, id],
    );
    return row ?? { tokens: 0, microUsd: 0 };
  }

  /** Locks the conversation until the transaction ends, so that no run is added. Returns whether it exists. */
  async lock({ namespace, createdBy, id }: ConversationKey): Promise<boolean> {
    const sql = `SELECT 1 FROM conversation WHERE ${KEY} FOR UPDATE`;
    return (await this.db.query(sql, [namespace, createdBy, id])).length > 0;
  }

  /** The unfinished runs, which are locked until the transaction ends. */
  async openRuns({ namespace, createdBy, id }: ConversationKey): Promise<string[]> {
    const rows = await this.db.query<{ id: string }>(
      `SELECT id FROM run WHERE namespace = $1 AND created_by = $2 AND conversation_id = $3 AND finished_at IS NULL
       ORDER BY id FOR NO KEY UPDATE`,
      [namespace, createdBy, id],
    );
    return rows.map((row) => row.id);
  }

  /** Deletes the conversation. Its runs leave it, and their contents are removed as by retention. */
  async remove({ namespace, createdBy, id }: ConversationKey): Promise<void> {
    await this.db.query(
      `WITH removed AS (DELETE FROM conversation WHERE ${KEY})
       UPDATE run SET conversation_id = NULL, redact_after_ms = 0 WHERE namespace = $1 AND created_by = $2 AND conversation_id = $3`,
      [namespace, createdBy, id],
    );
  }

  /** Deletes conversations whose runs were all deleted. */
  async prune(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query(
      `DELETE FROM conversation AS c WHERE c.seq IN (SELECT seq FROM conversation AS old
           WHERE old.last_run_at < clock_timestamp() - $1 * interval '1 millisecond' AND NOT EXISTS (SELECT FROM run AS r
             WHERE r.namespace = old.namespace AND r.created_by = old.created_by AND r.conversation_id = old.id)
           ORDER BY old.last_run_at LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [keepMs, limit],
    );
    return rows.length;
  }

  /** The runs of the conversation on the same agent that began before this run, newest first. */
  async earlier({ run, before }: EarlierPosition, limit: number): Promise<EarlierHead[]> {
    return await this.db.query<EarlierHead>({ name: 'conversations-earlier', text: EARLIER }, [
      ...placeOf(run),
      run.id,
      before ?? null,
      limit,
    ]);
  }

  /** The id of the oldest of these runs that still has its contents. */
  async oldest({ run }: EarlierPosition): Promise<string | undefined> {
    return (await this.db.query<{ id: string }>(OLDEST, placeOf(run)))[0]?.id;
  }

  async stepsOf(runIds: readonly string[]): Promise<ReadonlyMap<string, RunStep[]>> {
    const rows = await this.db.query<{ runId: string; step: RunStep }>(
      `SELECT run_id AS "runId", step FROM run_step WHERE run_id = ANY ($1) ORDER BY run_id, seq`,
      [runIds],
    );
    const steps = new Map<string, RunStep[]>(runIds.map((id) => [id, []]));
    for (const { runId, step } of rows) steps.get(runId)?.push(step);
    return steps;
  }

  /** The id that the agent gave to the conversation in the runs before this one. */
  async namedByAgent({ run }: EarlierPosition): Promise<string | undefined> {
    return (await this.db.query<{ id: string }>(NAMED_BY_AGENT, [...placeOf(run), run.id]))[0]?.id;
  }
}

function placeOf({ namespace, createdBy, conversationId, agentId }: EarlierPosition['run']): string[] {
  return [namespace, createdBy, conversationId, agentId];
}

function toConversation({ createdAt, lastRunAt, ...row }: Row): Conversation {
  return { ...row, createdAt: createdAt.toISOString(), lastRunAt: lastRunAt.toISOString() };
}
