import { Injectable } from '@nestjs/common';
import { Database, DEFAULT_NAMESPACE, type NamedStatement, type Statement } from '#rollcall/platform';
import { type Budget, type BudgetKind, FLEET } from '../budget.js';
import type { HeldShare } from '../ledger/budget.shares.js';
import type { LedgerWrites, LockedReservation } from '../ledger/ledger.batch.js';
import type { LedgerLine, ReservationKey } from '../ledger/ledger.operation.js';
import type { Reservation, ReservationState } from '../ledger/reservation.js';
import { BUDGET_COLUMNS, type BudgetRow, budgetFromRow } from './budget.store.js';

export interface BudgetScope {
  kind: BudgetKind;
  subject: string;
}

/** The owner of the agent or run that a budget belongs to; null if the agent does not exist any more. */
export interface BudgetOwner {
  kind: BudgetKind;
  subject: string;
  owner: string | null;
}

export interface LockedBudgets {
  budgets: Budget[];
  /** The time of the database when the last budget was read. */
  now: number;
  /** The number of reservations that each counted owner holds. */
  held: Record<string, number>;
  /** The owners of the agents and runs; empty unless `withOwners`. */
  owners: BudgetOwner[];
}

/** The budgets to lock. */
interface WantedBudgets {
  /** The budgets of these subjects, with their ancestors. */
  scopes: readonly BudgetScope[];
  ids: readonly number[];
  /** The budgets on which these reservations hold amounts. */
  reservedFor: readonly ReservationKey[];
}

/** The owners whose held reservations are counted, and the number at which counting stops. */
export interface CountedOwners {
  owners: readonly string[];
  upTo: number;
  /** Also reads the owners of the agents and runs that the budgets belong to. */
  withOwners: boolean;
}

interface ReservationRow {
  owner: string;
  key: string;
  agentId: string | null;
  callerId: string | null;
  runId: string | null;
  budgetIds: string[];
  heldTokens: string;
  heldMicroUsd: string;
  aheadTokens: string;
  aheadMicroUsd: string;
  reportedBefore: string;
  state: ReservationState;
  usedTokens: string | null;
  usedMicroUsd: string | null;
  overdraft: boolean;
  estimated: boolean;
  expiresAt: Date;
  isOver: boolean;
}

const RESERVATION_COLUMNS = `
  r.owner, r.key, r.agent_id AS "agentId", r.caller_id AS "callerId", r.run_id AS "runId", r.budget_ids AS "budgetIds",
  r.held_tokens AS "heldTokens", r.held_micro_usd AS "heldMicroUsd", r.ahead_tokens AS "aheadTokens",
  r.ahead_micro_usd AS "aheadMicroUsd", r.reported_before AS "reportedBefore", r.state,
  r.used_tokens AS "usedTokens", r.used_micro_usd AS "usedMicroUsd", r.overdraft, r.estimated, r.expires_at AS "expiresAt",
  r.expires_at <= clock_timestamp() AS "isOver"`;

type LockedRow = BudgetRow & { now: Date; held: Record<string, number> | null; owner: string | null };

/** The SQL of the ledger. It locks and reads the rows that `LedgerBatch` needs, and writes its result in one round trip. */
@Injectable()
export class LedgerStore {
  constructor(private readonly db: Database) {}

  /** Locks and returns reservations, in the order of their keys. Callers lock reservations before budgets. */
  async lockReservations(keys: readonly ReservationKey[]): Promise<LockedReservation[]> {
    if (keys.length === 0) return [];
    const rows = await this.db.query<ReservationRow>(
      `SELECT ${RESERVATION_COLUMNS} FROM budget_reservation r
       WHERE (r.owner, r.key) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY r.owner, r.key FOR UPDATE`,
      [keys.map(({ owner }) => owner), keys.map(({ key }) => key)],
    );
    return rows.map(reservationFromRow);
  }

  /**
   * Locks and returns budgets in the order of their ids, like all writers of budgets. Because of the array, Postgres uses the primary
   * key, even for a large batch. The budgets of a reservation never change, so they are read without its lock.
   */
  async lockBudgets(
    { scopes, ids, reservedFor }: WantedBudgets,
    { owners, upTo, withOwners }: CountedOwners,
  ): Promise<LockedBudgets> {
    const rows = await this.db.query<LockedRow>(
      `WITH wanted AS (
         SELECT unnest(b.path || b.id) AS id FROM budget b
         JOIN unnest($1::text[], $2::text[]) AS s (kind, subject) ON b.kind = s.kind AND b.subject = s.subject
         UNION SELECT unnest($3::bigint[])
         UNION SELECT unnest(r.budget_ids) FROM budget_reservation r
         WHERE (r.owner, r.key) IN (SELECT * FROM unnest($7::text[], $8::text[]))),
       locked AS (
         SELECT ${BUDGET_COLUMNS}, clock_timestamp() AS now, ${OWNER} AS owner FROM budget b
         WHERE b.id = ANY (ARRAY(SELECT id FROM wanted)) ORDER BY b.id FOR UPDATE)
       SELECT locked.*, CASE row_number() OVER () WHEN 1 THEN ${heldBy('$4', '$5')} END AS held FROM locked`,
      [
        scopes.map(({ kind }) => kind),
        scopes.map(({ subject }) => subject),
        ids,
        owners,
        upTo,
        withOwners,
        reservedFor.map(({ owner }) => owner),
        reservedFor.map(({ key }) => key),
      ],
    );
    const moments = rows.map(({ now }) => now.getTime());
    if (!rows[0]) return { budgets: [], owners: [], ...(await this.countHeld(owners, upTo)) };
    const ofSubjects = withOwners ? rows.filter(({ kind }) => kind === 'agent' || kind === 'run') : [];
    return {
      budgets: rows.map(budgetFromRow),
      owners: ofSubjects,
      now: Math.max(...moments),
      held: rows[0].held ?? {},
    };
  }

  /** What these owners hold on each budget. To be exact, it runs after the budgets are locked, as a statement of its own. */
  async heldShares(owners: readonly string[]): Promise<HeldShare[]> {
    if (owners.length === 0) return [];
    const rows = await this.db.query<{ owner: string; budgetId: string; tokens: string; microUsd: string }>(
      `SELECT r.owner, b.id AS "budgetId", sum(r.held_tokens)::bigint AS tokens, sum(r.held_micro_usd)::bigint AS "microUsd"
       FROM budget_reservation r CROSS JOIN unnest(r.budget_ids) AS b (id)
       WHERE r.owner = ANY ($1) AND r.state = 'held' GROUP BY r.owner, b.id`,
      [owners],
    );
    return rows.map(({ owner, budgetId, tokens, microUsd }) => {
      return { owner, budgetId: Number(budgetId), held: { tokens: Number(tokens), microUsd: Number(microUsd) } };
    });
  }

  /** Locks and returns only the budgets of these agents. */
  async lockAgents(agentIds: readonly string[]): Promise<LockedBudgets> {
    if (agentIds.length === 0) return { budgets: [], owners: [], now: 0, held: {} };
    const rows = await this.db.query<BudgetRow & { now: Date }>(
      `SELECT ${BUDGET_COLUMNS}, clock_timestamp() AS now FROM budget b
       WHERE b.kind = 'agent' AND b.subject = ANY ($1) ORDER BY b.id FOR UPDATE`,
      [agentIds],
    );
    const now = Math.max(0, ...rows.map((row) => row.now.getTime()));
    return { budgets: rows.map(budgetFromRow), owners: [], now, held: {} };
  }

  private async countHeld(owners: readonly string[], upTo: number): Promise<Pick<LockedBudgets, 'now' | 'held'>> {
    const rows = await this.db.query<{ now: Date; held: Record<string, number> }>(
      `SELECT clock_timestamp() AS now, ${heldBy('$1', '$2')} AS held`,
      [owners, upTo],
    );
    return { now: rows[0]?.now.getTime() ?? 0, held: rows[0]?.held ?? {} };
  }

  /** The statements that write the result of a batch. Opening a reservation fails if another transaction has used its key. */
  statementsOf({ budgets, opened, renewed, charged, closed, lines }: LedgerWrites): Statement[] {
    const all = [
      openReservations(opened),
      updateBudgets(budgets),
      chargeReservations(charged),
      closeReservations(closed),
      renewReservations(renewed),
      insertLines(lines),
    ];
    return all
      .filter(({ rows }) => rows.length > 0)
      .map(({ sql, rows }) => ({ sql, parameters: [JSON.stringify(rows)] }));
  }

  async find({ owner, key }: ReservationKey): Promise<Reservation | undefined> {
    const rows = await this.db.query<ReservationRow>(
      `SELECT ${RESERVATION_COLUMNS} FROM budget_reservation r WHERE r.owner = $1 AND r.key = $2`,
      [owner, key],
    );
    return rows[0] && reservationFromRow(rows[0]);
  }

  /** The index contains only the owner, so Postgres reads all held reservations of the owner. */
  async heldFor(owner: string, runId: string): Promise<Reservation[]> {
    const rows = await this.db.query<ReservationRow>(
      `SELECT ${RESERVATION_COLUMNS} FROM budget_reservation r
       WHERE r.owner = $1 AND r.state = 'held' AND r.run_id = $2 ORDER BY r.key`,
      [owner, runId],
    );
    return rows.map(reservationFromRow);
  }

  async isAnyKnown(keys: readonly ReservationKey[]): Promise<boolean> {
    const rows = await this.db.query(
      `SELECT 1 FROM unnest($1::text[], $2::text[]) AS k (owner, key)
       WHERE EXISTS (SELECT FROM budget_reservation r WHERE r.owner = k.owner AND r.key = k.key) LIMIT 1`,
      [keys.map(({ owner }) => owner), keys.map(({ key }) => key)],
    );
    return rows.length > 0;
  }

  /** The number of reservations that are held in the namespace. Reads all held reservations. */
  async countHeldIn(namespace: string): Promise<number> {
    const rows = await this.db.query<{ held: string }>(
      `SELECT count(*) AS held FROM budget_reservation
       WHERE state = 'held' AND (starts_with(owner, $1 || '/') OR ($2 AND strpos(owner, '/') = 0))`,
      [namespace, namespace === DEFAULT_NAMESPACE],
    );
    return Number(rows[0]?.held);
  }

  /** The held reservations that have expired, the oldest first. */
  async overdue(limit: number): Promise<ReservationKey[]> {
    return await this.db.query<{ owner: string; key: string }>(
      `SELECT owner, key FROM budget_reservation WHERE state = 'held' AND expires_at <= statement_timestamp()
       ORDER BY expires_at LIMIT $1`,
      [limit],
    );
  }
}

/** SQL for the owner of the agent or run that a budget belongs to. It is read only if a reservation depends on it. */
const OWNER = `CASE WHEN $6 THEN CASE b.kind
  WHEN 'agent' THEN (SELECT a.registered_by FROM agent a WHERE a.agent_id = b.subject) WHEN 'run' THEN b.created_by END END`;

/** SQL for the number of reservations that each owner holds, as JSON. Reads at most `upTo` rows of each owner. */
function heldBy(owners: string, upTo: string): string {
  return `(SELECT coalesce(jsonb_object_agg(o.owner, (SELECT count(*) FROM (
      SELECT FROM budget_reservation r WHERE r.owner = o.owner AND r.state = 'held' LIMIT ${upTo}::bigint) AS held)), '{}')
    FROM unnest(${owners}::text[]) AS o (owner))`;
}

export const FLEET_SCOPE: BudgetScope = { kind: 'fleet', subject: FLEET };

/**
 * A statement and the rows that it writes. The rows are passed as one JSON parameter to `jsonb_to_recordset`. Only the inserts are
 * prepared: the best plan of the others depends on the size of the table, which may grow quickly.
 */
interface RowsStatement {
  sql: string | NamedStatement;
  rows: readonly Record<string, unknown>[];
}

type Opened = LedgerWrites['opened'][number];
type Renewed = LedgerWrites['renewed'][number];

/** The array makes Postgres use the primary key. Without the array, Postgres expects 100 rows in the JSON and reads the whole table. */
const UPDATE_BUDGETS = `
  UPDATE budget b SET limit_tokens = n.limit_tokens, limit_micro_usd = n.limit_micro_usd,
    used_tokens = n.used_tokens, used_micro_usd = n.used_micro_usd, own_tokens = n.own_tokens, own_micro_usd = n.own_micro_usd,
    reserved_tokens = n.reserved_tokens, reserved_micro_usd = n.reserved_micro_usd,
    reported_tokens = n.reported_tokens, report_offset = n.report_offset, window_start = n.window_start,
    window_end = n.window_end, declared = n.declared, version = n.version, changed_at = clock_timestamp()
  FROM jsonb_to_recordset($1::jsonb) AS n (id bigint, limit_tokens bigint, limit_micro_usd bigint, used_tokens bigint,
    used_micro_usd bigint, own_tokens bigint, own_micro_usd bigint, reserved_tokens bigint, reserved_micro_usd bigint,
    reported_tokens bigint, report_offset bigint, window_start timestamptz, window_end timestamptz, declared boolean,
    version bigint)
  WHERE b.id = n.id AND b.id = ANY (ARRAY(SELECT (row ->> 'id')::bigint FROM jsonb_array_elements($1::jsonb) AS row))`;

function updateBudgets(budgets: readonly Budget[]): RowsStatement {
  const rows = budgets.map(
    ({ id, limit, used, own, reserved, reports, windowStart, windowEnd, declared, version }) => ({
      id,
      limit_tokens: limit.tokens,
      limit_micro_usd: limit.microUsd,
      used_tokens: used.tokens,
      used_micro_usd: used.microUsd,
      own_tokens: own.tokens,
      own_micro_usd: own.microUsd,
      reserved_tokens: reserved.tokens,
      reserved_micro_usd: reserved.microUsd,
      reported_tokens: reports.charged,
      report_offset: reports.offset,
      window_start: new Date(windowStart),
      window_end: windowEnd === null ? null : new Date(windowEnd),
      declared,
      version,
    }),
  );
  return { sql: UPDATE_BUDGETS, rows };
}

/** A reservation may be opened and closed in one batch. */
const OPEN_RESERVATIONS = {
  name: 'ledger_open_reservations',
  text: `
  INSERT INTO budget_reservation (owner, key, agent_id, caller_id, run_id, budget_ids, held_tokens, held_micro_usd,
    ahead_tokens, ahead_micro_usd, reported_before, state, used_tokens, used_micro_usd, overdraft, estimated, expires_at, closed_at)
  SELECT owner, key, agent_id, caller_id, run_id, budget_ids, held_tokens, held_micro_usd, ahead_tokens,
    ahead_micro_usd, reported_before, state, used_tokens, used_micro_usd, overdraft, estimated, clock_timestamp() + ttl_ms * interval '1 millisecond',
    CASE WHEN state <> 'held' THEN clock_timestamp() END
  FROM jsonb_to_recordset($1::jsonb) AS n (owner text, key text, agent_id text, caller_id text, run_id text,
    budget_ids bigint[], held_tokens bigint, held_micro_usd bigint, ahead_tokens bigint, ahead_micro_usd bigint,
    reported_before bigint, state text, used_tokens bigint, used_micro_usd bigint, overdraft boolean, estimated boolean, ttl_ms bigint)`,
};

function openReservations(opened: readonly Opened[]): RowsStatement {
  const rows = opened.map((one) => ({
    ...toClosing(one),
    agent_id: one.scopes.agentId,
    caller_id: one.scopes.callerId,
    run_id: one.scopes.runId,
    budget_ids: one.budgetIds,
    ...toHeld(one),
    ahead_tokens: one.ahead.tokens,
    ahead_micro_usd: one.ahead.microUsd,
    ttl_ms: one.ttlMs,
  }));
  return { sql: OPEN_RESERVATIONS, rows };
}

const CHARGE_RESERVATIONS = `
  UPDATE budget_reservation r SET held_tokens = n.held_tokens, held_micro_usd = n.held_micro_usd, used_tokens = n.used_tokens,
    used_micro_usd = n.used_micro_usd, overdraft = n.overdraft, reported_before = n.reported_before
  FROM jsonb_to_recordset($1::jsonb) AS n (owner text, key text, held_tokens bigint, held_micro_usd bigint, used_tokens bigint,
    used_micro_usd bigint, overdraft boolean, reported_before bigint)
  WHERE r.owner = n.owner AND r.key = n.key`;

/** Writes reservations that are charged in part, or raised. */
function chargeReservations(charged: readonly Reservation[]): RowsStatement {
  const rows = charged.map((one) => ({ ...toClosing(one), ...toHeld(one) }));
  return { sql: CHARGE_RESERVATIONS, rows };
}

const CLOSE_RESERVATIONS = `
  UPDATE budget_reservation r SET state = n.state, used_tokens = n.used_tokens, used_micro_usd = n.used_micro_usd,
    overdraft = n.overdraft, estimated = n.estimated, closed_at = clock_timestamp()
  FROM jsonb_to_recordset($1::jsonb) AS n (owner text, key text, state text, used_tokens bigint, used_micro_usd bigint,
    overdraft boolean, estimated boolean)
  WHERE r.owner = n.owner AND r.key = n.key`;

function closeReservations(closed: readonly Reservation[]): RowsStatement {
  return { sql: CLOSE_RESERVATIONS, rows: closed.map(toClosing) };
}

const RENEW_RESERVATIONS = `
  UPDATE budget_reservation r
  SET expires_at = greatest(r.expires_at, clock_timestamp() + n.ttl_ms * interval '1 millisecond')
  FROM jsonb_to_recordset($1::jsonb) AS n (owner text, key text, ttl_ms bigint)
  WHERE r.owner = n.owner AND r.key = n.key AND r.state = 'held'`;

function renewReservations(renewed: readonly Renewed[]): RowsStatement {
  return { sql: RENEW_RESERVATIONS, rows: renewed.map(({ owner, key, ttlMs }) => ({ owner, key, ttl_ms: ttlMs })) };
}

const INSERT_LINES = {
  name: 'ledger_insert_lines',
  text: `
  INSERT INTO budget_entry (budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd,
    window_start, owner, key, marks, by, note)
  SELECT budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd, window_start, owner, key, marks,
    by, note
  FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (budget_id bigint, kind text, tokens bigint, micro_usd bigint, own boolean,
      limit_changed boolean, limit_tokens bigint, limit_micro_usd bigint, window_start timestamptz, owner text, key text,
      marks text[], by text, note text))
    WITH ORDINALITY AS n (budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd, window_start,
      owner, key, marks, by, note, place) ORDER BY place`,
};

function insertLines(lines: readonly LedgerLine[]): RowsStatement {
  const rows = lines.map(({ budgetId, kind, amount, own, limit, windowStart, reservation, marks, by, note }) => ({
    budget_id: budgetId,
    kind,
    tokens: amount.tokens,
    micro_usd: amount.microUsd,
    own,
    limit_changed: limit !== null,
    limit_tokens: limit?.tokens ?? null,
    limit_micro_usd: limit?.microUsd ?? null,
    window_start: new Date(windowStart),
    owner: reservation?.owner ?? null,
    key: reservation?.key ?? null,
    marks,
    by,
    note,
  }));
  return { sql: INSERT_LINES, rows };
}

function toClosing({ owner, key, state, used, overdraft, estimated }: Reservation): Record<string, unknown> {
  const [usedTokens, usedMicroUsd] = [used?.tokens ?? null, used?.microUsd ?? null];
  return { owner, key, state, used_tokens: usedTokens, used_micro_usd: usedMicroUsd, overdraft, estimated };
}

function toHeld({ held, reportedBefore }: Reservation): Record<string, unknown> {
  return { held_tokens: held.tokens, held_micro_usd: held.microUsd, reported_before: reportedBefore };
}

function reservationFromRow(row: ReservationRow): LockedReservation {
  const { owner, key, agentId, callerId, runId, state, overdraft, estimated, isOver } = row;
  return {
    owner,
    key,
    scopes: { agentId, callerId, runId },
    budgetIds: row.budgetIds.map(Number),
    held: { tokens: Number(row.heldTokens), microUsd: Number(row.heldMicroUsd) },
    ahead: { tokens: Number(row.aheadTokens), microUsd: Number(row.aheadMicroUsd) },
    reportedBefore: Number(row.reportedBefore),
    state,
    used: row.usedTokens === null ? null : { tokens: Number(row.usedTokens), microUsd: Number(row.usedMicroUsd) },
    overdraft,
    estimated,
    expiresAt: row.expiresAt.getTime(),
    isOver,
  };
}
