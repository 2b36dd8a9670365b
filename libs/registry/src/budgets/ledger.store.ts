import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { FLEET, type Budget, type BudgetKind } from './budget.js';
import {
  BUDGET_COLUMNS,
  RESERVATION_COLUMNS,
  toBudget,
  toReservation,
  type BudgetRow,
  type ReservationRow,
} from './budget.row.js';
import type { FoundReservation, LedgerWrites, ReservationKey } from './ledger.batch.js';
import type { LedgerLine } from './ledger.entry.js';
import type { Reservation } from './reservation.js';

export interface BudgetScope {
  kind: BudgetKind;
  subject: string;
}

export interface LockedBudgets {
  budgets: Budget[];
  /** By the database's clock, as it was when the last of them was read. */
  now: number;
  /** Reservations held by each owner that was to be counted. */
  held: Record<string, number>;
}

/** Whose held reservations are counted, and up to which number. */
export interface CountedOwners {
  owners: readonly string[];
  upTo: number;
}

type LockedRow = BudgetRow & { now: Date; held: Record<string, number> | null };

/** The SQL of the ledger: everything is read under lock, decided elsewhere, and written by one statement. */
@Injectable()
export class LedgerStore {
  constructor(private readonly db: Database) {}

  /** Locked, in the order of their keys; always before budgets are. */
  async lockReservations(keys: readonly ReservationKey[]): Promise<FoundReservation[]> {
    if (keys.length === 0) return [];
    const rows = await this.db.query<ReservationRow>(
      `SELECT ${RESERVATION_COLUMNS} FROM budget_reservation r
       WHERE (r.owner, r.key) IN (SELECT * FROM unnest($1::text[], $2::text[])) ORDER BY r.owner, r.key FOR UPDATE`,
      [keys.map(({ owner }) => owner), keys.map(({ key }) => key)],
    );
    return rows.map(toReservation);
  }

  /**
   * All budgets of these subjects with those above them, and of these ids: locked in the order of their ids, which is the
   * one order everybody locks budgets in.
   */
  async lockBudgets(
    scopes: readonly BudgetScope[],
    ids: readonly number[],
    { owners, upTo }: CountedOwners,
  ): Promise<LockedBudgets> {
    const rows = await this.db.query<LockedRow>(
      `WITH wanted AS (
         SELECT unnest(b.path || b.id) AS id FROM budget b
         JOIN unnest($1::text[], $2::text[]) AS s (kind, subject) ON b.kind = s.kind AND b.subject = s.subject
         UNION SELECT unnest($3::bigint[])),
       locked AS (
         SELECT ${BUDGET_COLUMNS}, clock_timestamp() AS now FROM budget b
         WHERE b.id IN (SELECT id FROM wanted) ORDER BY b.id FOR UPDATE)
       SELECT locked.*, CASE row_number() OVER () WHEN 1 THEN ${heldBy('$4', '$5')} END AS held FROM locked`,
      [scopes.map(({ kind }) => kind), scopes.map(({ subject }) => subject), ids, owners, upTo],
    );
    const moments = rows.map(({ now }) => now.getTime());
    if (!rows[0]) return { budgets: [], ...(await this.withoutBudgets({ owners, upTo })) };
    return { budgets: rows.map(toBudget), now: Math.max(...moments), held: rows[0].held ?? {} };
  }

  /** The budgets of these agents without those of runs, callers and the fleet. */
  async lockAgents(agentIds: readonly string[]): Promise<LockedBudgets> {
    const rows = await this.db.query<BudgetRow & { now: Date }>(
      `SELECT ${BUDGET_COLUMNS}, clock_timestamp() AS now FROM budget b
       WHERE b.kind = 'agent' AND b.subject = ANY ($1) ORDER BY b.id FOR UPDATE`,
      [agentIds],
    );
    return { budgets: rows.map(toBudget), now: Math.max(0, ...rows.map(({ now }) => now.getTime())), held: {} };
  }

  private async withoutBudgets({ owners, upTo }: CountedOwners): Promise<Omit<LockedBudgets, 'budgets'>> {
    const rows = await this.db.query<{ now: Date; held: Record<string, number> }>(
      `SELECT clock_timestamp() AS now, ${heldBy('$1', '$2')} AS held`,
      [owners, upTo],
    );
    return { now: rows[0]?.now.getTime() ?? 0, held: rows[0]?.held ?? {} };
  }

  /** Answers how many reservations were new: one that was not, another transaction has opened in the meantime. */
  async write({ budgets, opened, renewed, closed, lines }: LedgerWrites): Promise<number> {
    const rows = await this.db.query<{ opened: string }>(WRITE, [
      ...budgetArrays(budgets),
      ...reservationArrays(opened),
      opened.map(({ ttlMs }) => ttlMs),
      ...closingArrays(closed),
      ...lineArrays(lines),
      renewed.map(({ owner }) => owner),
      renewed.map(({ key }) => key),
      renewed.map(({ ttlMs }) => ttlMs),
    ]);
    return Number(rows[0]?.opened);
  }

  async find({ owner, key }: ReservationKey): Promise<Reservation | undefined> {
    const rows = await this.db.query<ReservationRow>(
      `SELECT ${RESERVATION_COLUMNS} FROM budget_reservation r WHERE r.owner = $1 AND r.key = $2`,
      [owner, key],
    );
    return rows[0] && toReservation(rows[0]);
  }

  async isAnyKnown(keys: readonly ReservationKey[]): Promise<boolean> {
    const rows = await this.db.query(
      `SELECT 1 FROM unnest($1::text[], $2::text[]) AS k (owner, key)
       WHERE EXISTS (SELECT FROM budget_reservation r WHERE r.owner = k.owner AND r.key = k.key) LIMIT 1`,
      [keys.map(({ owner }) => owner), keys.map(({ key }) => key)],
    );
    return rows.length > 0;
  }

  /** Held although their time is over, the longest over first. */
  async overdue(limit: number): Promise<ReservationKey[]> {
    return await this.db.query<{ owner: string; key: string }>(
      `SELECT owner, key FROM budget_reservation WHERE state = 'held' AND expires_at <= statement_timestamp()
       ORDER BY expires_at LIMIT $1`,
      [limit],
    );
  }
}

/** How many reservations each of these owners holds, as JSON. Reads no more rows of an owner than it is asked to count. */
function heldBy(owners: string, upTo: string): string {
  return `(SELECT coalesce(jsonb_object_agg(o.owner, (SELECT count(*) FROM (
      SELECT FROM budget_reservation r WHERE r.owner = o.owner AND r.state = 'held' LIMIT ${upTo}::bigint) AS held)), '{}')
    FROM unnest(${owners}::text[]) AS o (owner))`;
}

export const FLEET_SCOPE: BudgetScope = { kind: 'fleet', subject: FLEET };

const WRITE = `
  WITH counted AS (
    UPDATE budget b SET limit_tokens = n.limit_tokens, limit_micro_usd = n.limit_micro_usd, used_tokens = n.used_tokens,
      used_micro_usd = n.used_micro_usd, own_tokens = n.own_tokens, own_micro_usd = n.own_micro_usd,
      reserved_tokens = n.reserved_tokens, reserved_micro_usd = n.reserved_micro_usd, window_start = n.window_start,
      window_end = n.window_end, declared = n.declared, version = n.version, changed_at = clock_timestamp()
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
      $8::bigint[], $9::bigint[], $10::timestamptz[], $11::timestamptz[], $12::boolean[], $13::bigint[])
      AS n (id, limit_tokens, limit_micro_usd, used_tokens, used_micro_usd, own_tokens, own_micro_usd, reserved_tokens,
        reserved_micro_usd, window_start, window_end, declared, version)
    WHERE b.id = n.id),
  opened AS (
    INSERT INTO budget_reservation (owner, key, agent_id, caller_id, run_id, budget_ids, held_tokens, held_micro_usd,
      state, used_tokens, used_micro_usd, overdraft, estimated, expires_at, closed_at)
    SELECT owner, key, agent_id, caller_id, run_id, budget_ids::bigint[], held_tokens, held_micro_usd, state, used_tokens,
      used_micro_usd, overdraft, estimated, clock_timestamp() + ttl_ms * interval '1 millisecond',
      CASE WHEN state <> 'held' THEN clock_timestamp() END
    FROM unnest($14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bigint[],
      $21::bigint[], $22::text[], $23::bigint[], $24::bigint[], $25::boolean[], $26::boolean[], $27::bigint[])
      AS n (owner, key, agent_id, caller_id, run_id, budget_ids, held_tokens, held_micro_usd, state, used_tokens,
        used_micro_usd, overdraft, estimated, ttl_ms)
    ON CONFLICT DO NOTHING RETURNING 1),
  closed AS (
    UPDATE budget_reservation r SET state = n.state, used_tokens = n.used_tokens, used_micro_usd = n.used_micro_usd,
      overdraft = n.overdraft, estimated = n.estimated, closed_at = clock_timestamp()
    FROM unnest($28::text[], $29::text[], $30::text[], $31::bigint[], $32::bigint[], $33::boolean[], $34::boolean[])
      AS n (owner, key, state, used_tokens, used_micro_usd, overdraft, estimated)
    WHERE r.owner = n.owner AND r.key = n.key),
  renewed AS (
    UPDATE budget_reservation r SET
      expires_at = greatest(r.expires_at, clock_timestamp() + n.ttl_ms * interval '1 millisecond')
    FROM unnest($49::text[], $50::text[], $51::bigint[]) AS n (owner, key, ttl_ms)
    WHERE r.owner = n.owner AND r.key = n.key AND r.state = 'held'),
  entered AS (
    INSERT INTO budget_entry (budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd,
      window_start, owner, key, marks, by, note)
    SELECT budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd, window_start, owner, key,
      marks::text[], by, note
    FROM unnest($35::bigint[], $36::text[], $37::bigint[], $38::bigint[], $39::boolean[], $40::boolean[], $41::bigint[],
      $42::bigint[], $43::timestamptz[], $44::text[], $45::text[], $46::text[], $47::text[], $48::text[])
      AS n (budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, limit_micro_usd, window_start, owner, key,
        marks, by, note))
  SELECT count(*) AS opened FROM opened`;

function budgetArrays(budgets: readonly Budget[]): unknown[] {
  return [
    budgets.map(({ id }) => id),
    budgets.map(({ limit }) => limit.tokens),
    budgets.map(({ limit }) => limit.microUsd),
    budgets.map(({ used }) => used.tokens),
    budgets.map(({ used }) => used.microUsd),
    budgets.map(({ own }) => own.tokens),
    budgets.map(({ own }) => own.microUsd),
    budgets.map(({ reserved }) => reserved.tokens),
    budgets.map(({ reserved }) => reserved.microUsd),
    budgets.map(({ windowStart }) => moment(windowStart)),
    budgets.map(({ windowEnd }) => (windowEnd === null ? null : moment(windowEnd))),
    budgets.map(({ declared }) => declared),
    budgets.map(({ version }) => version),
  ];
}

function reservationArrays(all: readonly Reservation[]): unknown[] {
  const [owners, keys, ...end] = closingArrays(all);
  return [
    owners,
    keys,
    all.map(({ scopes }) => scopes.agentId),
    all.map(({ scopes }) => scopes.callerId),
    all.map(({ scopes }) => scopes.runId),
    all.map(({ budgetIds }) => `{${budgetIds.join()}}`),
    all.map(({ held }) => held.tokens),
    all.map(({ held }) => held.microUsd),
    ...end,
  ];
}

function closingArrays(all: readonly Reservation[]): unknown[] {
  return [
    all.map(({ owner }) => owner),
    all.map(({ key }) => key),
    all.map(({ state }) => state),
    all.map(({ used }) => used?.tokens ?? null),
    all.map(({ used }) => used?.microUsd ?? null),
    all.map(({ overdraft }) => overdraft),
    all.map(({ estimated }) => estimated),
  ];
}

function lineArrays(lines: readonly LedgerLine[]): unknown[] {
  return [
    lines.map(({ budgetId }) => budgetId),
    lines.map(({ kind }) => kind),
    lines.map(({ amount }) => amount.tokens),
    lines.map(({ amount }) => amount.microUsd),
    lines.map(({ own }) => own),
    lines.map(({ limit }) => limit !== null),
    lines.map(({ limit }) => limit?.tokens ?? null),
    lines.map(({ limit }) => limit?.microUsd ?? null),
    lines.map(({ windowStart }) => moment(windowStart)),
    lines.map(({ reservation }) => reservation?.owner ?? null),
    lines.map(({ reservation }) => reservation?.key ?? null),
    lines.map(({ marks }) => `{${marks.join()}}`),
    lines.map(({ by }) => by),
    lines.map(({ note }) => note),
  ];
}

function moment(at: number): string {
  return new Date(at).toISOString();
}
