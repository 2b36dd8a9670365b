import { Injectable } from '@nestjs/common';
import { Database, DEFAULT_NAMESPACE, type Statement } from '#rollcall/platform';
import { FLEET, type Budget, type BudgetKind } from './budget.js';
import {
  BUDGET_COLUMNS,
  RESERVATION_COLUMNS,
  toBudget,
  toReservation,
  type BudgetRow,
  type ReservationRow,
} from './budget.row.js';
import type { BudgetOwner } from './budget.owners.js';
import type { LockedReservation, LedgerWrites, ReservationKey } from './ledger.batch.js';
import {
  chargeReservations,
  closeReservations,
  insertLines,
  openReservations,
  renewReservations,
  updateBudgets,
} from './ledger.statements.js';
import type { Reservation } from './reservation.js';

export interface BudgetScope {
  kind: BudgetKind;
  subject: string;
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
export interface WantedBudgets {
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
    return rows.map(toReservation);
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
    return { budgets: rows.map(toBudget), owners: ofSubjects, now: Math.max(...moments), held: rows[0].held ?? {} };
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
    return { budgets: rows.map(toBudget), owners: [], now, held: {} };
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
    return rows[0] && toReservation(rows[0]);
  }

  /** The index contains only the owner, so Postgres reads all held reservations of the owner. */
  async heldFor(owner: string, runId: string): Promise<Reservation[]> {
    const rows = await this.db.query<ReservationRow>(
      `SELECT ${RESERVATION_COLUMNS} FROM budget_reservation r
       WHERE r.owner = $1 AND r.state = 'held' AND r.run_id = $2 ORDER BY r.key`,
      [owner, runId],
    );
    return rows.map(toReservation);
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
