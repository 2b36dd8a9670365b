import type { NamedStatement } from '#rollcall/platform';
import type { Budget } from './budget.js';
import type { LedgerWrites } from './ledger.batch.js';
import type { LedgerLine } from './ledger.entry.js';
import type { Reservation } from './reservation.js';

/**
 * A statement and the rows that it writes. The rows are passed as one JSON parameter to `jsonb_to_recordset`. Only the inserts are
 * prepared: the best plan of the others depends on the size of the table, which may grow quickly.
 */
export interface RowsStatement {
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

export function updateBudgets(budgets: readonly Budget[]): RowsStatement {
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

export function openReservations(opened: readonly Opened[]): RowsStatement {
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
export function chargeReservations(charged: readonly Reservation[]): RowsStatement {
  const rows = charged.map((one) => ({ ...toClosing(one), ...toHeld(one) }));
  return { sql: CHARGE_RESERVATIONS, rows };
}

const CLOSE_RESERVATIONS = `
  UPDATE budget_reservation r SET state = n.state, used_tokens = n.used_tokens, used_micro_usd = n.used_micro_usd,
    overdraft = n.overdraft, estimated = n.estimated, closed_at = clock_timestamp()
  FROM jsonb_to_recordset($1::jsonb) AS n (owner text, key text, state text, used_tokens bigint, used_micro_usd bigint,
    overdraft boolean, estimated boolean)
  WHERE r.owner = n.owner AND r.key = n.key`;

export function closeReservations(closed: readonly Reservation[]): RowsStatement {
  return { sql: CLOSE_RESERVATIONS, rows: closed.map(toClosing) };
}

const RENEW_RESERVATIONS = `
  UPDATE budget_reservation r
  SET expires_at = greatest(r.expires_at, clock_timestamp() + n.ttl_ms * interval '1 millisecond')
  FROM jsonb_to_recordset($1::jsonb) AS n (owner text, key text, ttl_ms bigint)
  WHERE r.owner = n.owner AND r.key = n.key AND r.state = 'held'`;

export function renewReservations(renewed: readonly Renewed[]): RowsStatement {
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

export function insertLines(lines: readonly LedgerLine[]): RowsStatement {
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
