import { Injectable } from '@nestjs/common';
import { Database, type VisibleNamespaces } from '#rollcall/platform';
import { type Amount, type Budget, type BudgetKind, type Limit, namespaceOfBudget } from '../budget.js';
import type { BudgetWindow, WindowSpan } from '../budget.window.js';
import type { Burn } from '../forecast.js';
import type { LedgerEntryEntity } from './budget.entities.js';

export interface BudgetDraft {
  kind: BudgetKind;
  subject: string;
  window: BudgetWindow;
  timeZone: string;
  path: readonly number[];
  limit: Limit;
  low: Limit;
  used: Amount;
  source: string;
  declared: boolean;
  by: string;
}

export interface BudgetFilter {
  kind?: BudgetKind;
  subjects?: readonly string[];
  /** Only budgets of these namespaces; null or absent means all. */
  visible?: VisibleNamespaces;
  /** Only the descendants of this run. */
  under?: Budget;
}

/** A budget with the freshness of its counters. */
export interface BudgetReading {
  budget: Budget;
  createdAt: Date;
  refreshedAt: Date | null;
  refreshError: string | null;
  /** The time of the read, by the database's clock. */
  now: number;
}

/** Sets the name of the source that counts the usage of a budget. */
export interface BudgetSourceChange {
  id: number;
  source: string;
}

/** A budget as `BUDGET_COLUMNS` selects it. The driver returns a bigint as a string. */
export interface BudgetRow {
  id: string;
  kind: BudgetKind;
  subject: string;
  window: BudgetWindow;
  timeZone: string;
  path: string[];
  limitTokens: string | null;
  limitMicroUsd: string | null;
  lowTokens: string | null;
  lowMicroUsd: string | null;
  usedTokens: string;
  usedMicroUsd: string;
  ownTokens: string;
  ownMicroUsd: string;
  reservedTokens: string;
  reservedMicroUsd: string;
  reportedTokens: string;
  reportOffset: string;
  /** A string if the row comes from JSON. */
  windowStart: Date | string;
  windowEnd: Date | string | null;
  source: string;
  declared: boolean;
  version: string;
}

export const BUDGET_COLUMNS = `
  b.id, b.kind, b.subject, b.window_kind AS "window", b.time_zone AS "timeZone", b.path,
  b.limit_tokens AS "limitTokens", b.limit_micro_usd AS "limitMicroUsd",
  b.low_tokens AS "lowTokens", b.low_micro_usd AS "lowMicroUsd",
  b.used_tokens AS "usedTokens", b.used_micro_usd AS "usedMicroUsd",
  b.own_tokens AS "ownTokens", b.own_micro_usd AS "ownMicroUsd",
  b.reserved_tokens AS "reservedTokens", b.reserved_micro_usd AS "reservedMicroUsd",
  b.reported_tokens AS "reportedTokens", b.report_offset AS "reportOffset",
  b.window_start AS "windowStart", b.window_end AS "windowEnd", b.source, b.declared, b.version`;

/** The total usage that an agent reported by heartbeat. */
export interface ReportedTotal {
  agentId: string;
  usedTokens: number | string | null;
}

/** A reported total that exceeds the known tokens of a budget. */
export interface UsageReport {
  budgetId: number;
  tokens: number;
}

type ReportRow = { id: string; tokens: string };
type ReadingRow = BudgetRow & { createdAt: Date; refreshedAt: Date | null; refreshError: string | null; now: Date };

const READING = `${BUDGET_COLUMNS}, b.created_at AS "createdAt", b.refreshed_at AS "refreshedAt",
  b.refresh_error AS "refreshError", clock_timestamp() AS now`;

const INSERT = `WITH b AS (
         INSERT INTO budget (kind, subject, window_kind, time_zone, path, root_id, limit_tokens, limit_micro_usd, low_tokens,
           low_micro_usd, used_tokens, used_micro_usd, own_tokens, own_micro_usd, window_start, window_end, source, declared,
           created_by, namespace)
         VALUES ($1, $2, $3, $4, $5::bigint[], ($5::bigint[])[1], $6, $7, $8, $9, $10, $11, $10, $11,
           coalesce($12, clock_timestamp()), $13, $14, $15, $16,
           $17)
         ON CONFLICT (kind, subject, window_kind) DO NOTHING RETURNING *),
       entered AS (
         INSERT INTO budget_entry (budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd,
           window_start, marks, by)
         SELECT id, 'opened', used_tokens, used_micro_usd, true, true, limit_tokens, limit_micro_usd, window_start, '{}', $16
         FROM b)
       SELECT ${BUDGET_COLUMNS} FROM b`;

const FIND_OF = `SELECT ${READING} FROM budget b WHERE b.kind = $1 AND b.subject = $2 ORDER BY b.id`;

/** Because of the arrays, Postgres uses the index, even in a generic plan. */
const FIND_ALL = `SELECT ${READING} FROM budget b WHERE b.kind = ANY ($1::text[]) AND b.subject = ANY ($2::text[])
  AND (b.kind, b.subject) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY b.id`;

/** The maximum number of ledger lines from which a burn rate is computed. */
const BURN_LINES = 10_000;

@Injectable()
export class BudgetStore {
  constructor(private readonly db: Database) {}

  async now(): Promise<number> {
    const rows = await this.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return rows[0]?.now.getTime() ?? 0;
  }

  /** Inserts the budget and its first ledger line. Its first window begins now by default. Returns undefined if the budget exists already. */
  async insert(budget: BudgetDraft, { start, end }: Partial<WindowSpan>): Promise<Budget | undefined> {
    const { kind, subject, window, timeZone, path, limit, low, used, source, declared, by } = budget;
    const rows = await this.db.query<BudgetRow>({ name: 'budget_insert', text: INSERT }, [
      kind,
      subject,
      window,
      timeZone,
      path,
      limit.tokens,
      limit.microUsd,
      low.tokens,
      low.microUsd,
      used.tokens,
      used.microUsd,
      toDate(start),
      toDate(end),
      source,
      declared,
      by,
      namespaceOfBudget(budget),
    ]);
    return rows[0] && budgetFromRow(rows[0]);
  }

  async find(id: number): Promise<BudgetReading | undefined> {
    const rows = await this.db.query<ReadingRow>(`SELECT ${READING} FROM budget b WHERE b.id = $1`, [id]);
    return rows[0] && toReading(rows[0]);
  }

  async findOf(kind: BudgetKind, subject: string): Promise<BudgetReading[]> {
    const rows = await this.db.query<ReadingRow>({ name: 'budget_of', text: FIND_OF }, [kind, subject]);
    return rows.map(toReading);
  }

  async findAll(scopes: readonly { kind: BudgetKind; subject: string }[]): Promise<BudgetReading[]> {
    const rows = await this.db.query<ReadingRow>({ name: 'budget_of_all', text: FIND_ALL }, [
      scopes.map(({ kind }) => kind),
      scopes.map(({ subject }) => subject),
    ]);
    return rows.map(toReading);
  }

  /** The limit that the budget was opened with. */
  async openedLimit(id: number): Promise<Limit | undefined> {
    const rows = await this.db.query<{ tokens: string | null; microUsd: string | null }>(
      `SELECT limit_tokens AS tokens, limit_micro_usd AS "microUsd" FROM budget_entry
       WHERE budget_id = $1 AND kind = 'opened' ORDER BY seq LIMIT 1`,
      [id],
    );
    const count = (text: string | null): number | null => (text === null ? null : Number(text));
    return rows[0] && { tokens: count(rows[0].tokens), microUsd: count(rows[0].microUsd) };
  }

  /** The budget of the parent of a new run. Locks the root, so that the tree is not pruned before the transaction ends. */
  async findParent(runId: string): Promise<Budget | undefined> {
    const rows = await this.db.query<BudgetRow>(
      `SELECT ${BUDGET_COLUMNS} FROM budget b JOIN budget root ON root.id = coalesce(b.root_id, b.id)
       WHERE b.kind = 'run' AND b.subject = $1 FOR KEY SHARE OF root`,
      [runId],
    );
    return rows[0] && budgetFromRow(rows[0]);
  }

  /** The principal that opened the budget of the run; undefined if the run has no budget. */
  async findRunOwner(runId: string): Promise<string | undefined> {
    const rows = await this.db.query<{ owner: string }>(
      `SELECT created_by AS owner FROM budget WHERE kind = 'run' AND subject = $1`,
      [runId],
    );
    return rows[0]?.owner;
  }

  async page(limit: number, after: number, { kind, subjects, visible, under }: BudgetFilter): Promise<BudgetReading[]> {
    const rows = await this.db.query<ReadingRow>(
      `SELECT ${READING} FROM budget b
       WHERE b.id > $2 AND ($3::text IS NULL OR b.kind = $3) AND ($4::text[] IS NULL OR b.subject = ANY ($4))
         AND ($7::text[] IS NULL OR b.namespace = ANY ($7))
         AND ($5::bigint IS NULL OR (b.root_id = $5 AND b.path @> ARRAY[$6::bigint])) ORDER BY b.id LIMIT $1`,
      [limit, after, kind ?? null, subjects ?? null, rootOf(under), under?.id ?? null, visible ?? null],
    );
    return rows.map(toReading);
  }

  /** Returns the newest lines first. */
  async lines(id: number, limit: number, before: string | undefined): Promise<LedgerEntryEntity[]> {
    return await this.db.query<LedgerEntryEntity>(
      `SELECT seq, kind, tokens, micro_usd AS "microUsd", own, limit_changed AS "limitChanged",
         limit_tokens AS "limitTokens", limit_micro_usd AS "limitMicroUsd", window_start AS "windowStart", owner, key, marks,
         by, note, at
       FROM budget_entry WHERE budget_id = $1 AND ($3::bigint IS NULL OR seq < $3) ORDER BY seq DESC LIMIT $2`,
      [id, limit, before ?? null],
    );
  }

  /** The amounts charged in the last `overMs`. The period is shorter for a new budget, and for a budget with too many ledger lines. */
  async burn(id: number, overMs: number): Promise<Burn> {
    const rows = await this.db.query<{ tokens: string; microUsd: string; overMs: string }>(
      `WITH span AS (
         SELECT greatest(b.created_at, clock_timestamp() - $2 * interval '1 millisecond') AS start FROM budget b WHERE b.id = $1),
       latest AS (
         SELECT kind, tokens, micro_usd, at FROM budget_entry WHERE budget_id = $1 ORDER BY seq DESC LIMIT ${BURN_LINES}),
       seen AS (SELECT CASE WHEN count(*) < ${BURN_LINES} THEN '-infinity' ELSE min(at) END AS start FROM latest)
       SELECT coalesce(sum(l.tokens), 0) AS tokens, coalesce(sum(l.micro_usd), 0) AS "microUsd",
         (extract(epoch FROM clock_timestamp() - max(greatest(span.start, seen.start))) * 1000)::bigint AS "overMs"
       FROM span, seen LEFT JOIN latest l ON l.kind IN ('charged', 'reported', 'refreshed')
         AND l.at >= (SELECT start FROM span)`,
      [id, overMs],
    );
    const [row] = rows;
    return { tokens: Number(row?.tokens), microUsd: Number(row?.microUsd), overMs: Math.max(1, Number(row?.overMs)) };
  }

  /** The ids of the budgets whose window has ended, and whose counters no write has moved to the next window yet. */
  async endedWindows(limit: number): Promise<number[]> {
    const rows = await this.db.query<{ id: string }>(
      'SELECT id FROM budget WHERE window_end <= statement_timestamp() ORDER BY window_end LIMIT $1',
      [limit],
    );
    return rows.map(({ id }) => Number(id));
  }

  /** The totals from heartbeats that exceed the known tokens (see `ReportState`). Scans the leases of the whole fleet. */
  async allAheadOfLedger(limit: number): Promise<UsageReport[]> {
    const rows = await this.db.query<ReportRow>(
      `SELECT b.id, l.used_tokens AS tokens FROM agent_lease l
       JOIN budget b ON b.kind = 'agent' AND b.subject = l.agent_id AND b.window_kind = 'total' AND b.source = 'reported'
       WHERE l.used_tokens > b.used_tokens + b.report_offset LIMIT $1`,
      [limit],
    );
    return rows.map(toReport);
  }

  /** The given totals that exceed the known tokens (see `ReportState`). */
  async aheadOfLedger(reports: readonly ReportedTotal[]): Promise<UsageReport[]> {
    const rows = await this.db.query<ReportRow>(
      `SELECT b.id, r.tokens FROM unnest($1::text[], $2::bigint[]) AS r (agent_id, tokens)
       JOIN budget b ON b.kind = 'agent' AND b.subject = r.agent_id AND b.window_kind = 'total' AND b.source = 'reported'
       WHERE r.tokens > b.used_tokens + b.report_offset`,
      [reports.map(({ agentId }) => agentId), reports.map(({ usedTokens }) => usedTokens)],
    );
    return rows.map(toReport);
  }

  /** The budgets of live agents with this usage source, the least recently refreshed first. */
  async ofSource(source: string): Promise<Budget[]> {
    const rows = await this.db.query<BudgetRow>(
      `SELECT ${BUDGET_COLUMNS} FROM budget b JOIN agent a ON a.agent_id = b.subject AND a.left_at IS NULL
       WHERE b.kind = 'agent' AND b.source = $1 ORDER BY b.refreshed_at NULLS FIRST, b.id`,
      [source],
    );
    return rows.map(budgetFromRow);
  }

  async noteRefresh(ids: readonly number[], error: string | null): Promise<void> {
    await this.db.query(
      `UPDATE budget b SET refreshed_at = CASE WHEN $2::text IS NULL THEN clock_timestamp() ELSE refreshed_at END,
         refresh_error = $2
       FROM (SELECT id FROM budget WHERE id = ANY ($1) ORDER BY id FOR UPDATE) AS locked WHERE b.id = locked.id`,
      [ids, error],
    );
  }

  async setSources(changes: readonly BudgetSourceChange[]): Promise<void> {
    if (changes.length === 0) return;
    await this.db.query(
      `UPDATE budget b SET source = c.source, version = version + 1
       FROM unnest($1::bigint[], $2::text[]) AS c (id, source) WHERE b.id = c.id`,
      [changes.map(({ id }) => id), changes.map(({ source }) => source)],
    );
  }

  async ofAgents(agentIds: readonly string[]): Promise<Budget[]> {
    const rows = await this.db.query<BudgetRow>(
      `SELECT ${BUDGET_COLUMNS} FROM budget b WHERE b.kind = 'agent' AND b.subject = ANY ($1)`,
      [agentIds],
    );
    return rows.map(budgetFromRow);
  }

  /**
   * The budgets of agents that changed after `since`, for replicas that did not make the change. A budget that has not changed since
   * a registration opened it is not read: the `agent.joined` event reports the agent.
   */
  async changedSince(since: Date): Promise<Budget[]> {
    const rows = await this.db.query<BudgetRow>(
      `SELECT ${BUDGET_COLUMNS} FROM budget b
       WHERE b.kind = 'agent' AND b.changed_at >= $1 AND NOT (b.declared AND b.version = 1)`,
      [since],
    );
    return rows.map(budgetFromRow);
  }
}

function rootOf(run: Budget | undefined): number | null {
  return run ? (run.path[0] ?? run.id) : null;
}

function toReport({ id, tokens }: ReportRow): UsageReport {
  return { budgetId: Number(id), tokens: Number(tokens) };
}

function toReading(row: ReadingRow): BudgetReading {
  const { createdAt, refreshedAt, refreshError, now } = row;
  return { budget: budgetFromRow(row), createdAt, refreshedAt, refreshError, now: now.getTime() };
}

function toDate(time: number | null | undefined): Date | null {
  return time === null || time === undefined ? null : new Date(time);
}

export function budgetFromRow(row: BudgetRow): Budget {
  return {
    id: Number(row.id),
    kind: row.kind,
    subject: row.subject,
    window: row.window,
    timeZone: row.timeZone,
    path: row.path.map(Number),
    limit: { tokens: numberOrNull(row.limitTokens), microUsd: numberOrNull(row.limitMicroUsd) },
    low: { tokens: numberOrNull(row.lowTokens), microUsd: numberOrNull(row.lowMicroUsd) },
    used: { tokens: Number(row.usedTokens), microUsd: Number(row.usedMicroUsd) },
    own: { tokens: Number(row.ownTokens), microUsd: Number(row.ownMicroUsd) },
    reserved: { tokens: Number(row.reservedTokens), microUsd: Number(row.reservedMicroUsd) },
    reports: { charged: Number(row.reportedTokens), offset: Number(row.reportOffset) },
    windowStart: new Date(row.windowStart).getTime(),
    windowEnd: row.windowEnd === null ? null : new Date(row.windowEnd).getTime(),
    source: row.source,
    declared: row.declared,
    version: Number(row.version),
  };
}

function numberOrNull(text: string | null): number | null {
  return text === null ? null : Number(text);
}
