import { Injectable } from '@nestjs/common';
import { Database, type VisibleNamespaces } from '#rollcall/platform';

/** A budget whose counters differ from its ledger. This happens only if other code writes the tables directly. */
export interface Discrepancy {
  id: string;
  counters: Numbers;
  ledger: Numbers;
}

type Numbers = Record<
  'usedTokens' | 'usedMicroUsd' | 'ownTokens' | 'ownMicroUsd' | 'heldTokens' | 'heldMicroUsd',
  string
> &
  Record<'limitTokens' | 'limitMicroUsd', string | null>;

export interface Reconciliation {
  checked: number;
  discrepancies: Discrepancy[];
}

const MAX_SHOWN = 100;

const PAIRS = `
  jsonb_build_object('usedTokens', used_tokens::text, 'usedMicroUsd', used_micro_usd::text, 'ownTokens', own_tokens::text,
    'ownMicroUsd', own_micro_usd::text, 'heldTokens', reserved_tokens::text, 'heldMicroUsd', reserved_micro_usd::text,
    'limitTokens', limit_tokens::text, 'limitMicroUsd', limit_micro_usd::text)`;

/** Checks that counters and ledger agree, and limits the growth of the ledger. */
@Injectable()
export class ReconciliationStore {
  constructor(private readonly db: Database) {}

  /** Checks all visible budgets in one statement, so the result is consistent even while other transactions spend. */
  async reconcile(visible: VisibleNamespaces = null): Promise<Reconciliation> {
    const rows = await this.db.query<{ checked: string; discrepancies: Discrepancy[] | null }>(
      `WITH visible AS (SELECT * FROM budget WHERE $1::text[] IS NULL OR namespace = ANY ($1)),
       lines AS (
         SELECT e.budget_id, sum(e.tokens) AS used_tokens, sum(e.micro_usd) AS used_micro_usd,
           coalesce(sum(e.tokens) FILTER (WHERE e.own), 0) AS own_tokens,
           coalesce(sum(e.micro_usd) FILTER (WHERE e.own), 0) AS own_micro_usd
         FROM budget_entry e JOIN visible b ON b.id = e.budget_id AND b.window_start = e.window_start GROUP BY e.budget_id),
       limits AS (
         SELECT DISTINCT ON (budget_id) budget_id, limit_tokens, limit_micro_usd FROM budget_entry
         WHERE limit_changed ORDER BY budget_id, seq DESC),
       reserved AS (
         SELECT id, sum(held_tokens) AS tokens, sum(held_micro_usd) AS micro_usd
         FROM budget_reservation, unnest(budget_ids) AS id WHERE state = 'held' GROUP BY id),
       counters AS (SELECT b.id, ${PAIRS} AS numbers FROM visible b),
       ledger AS (
         SELECT id, ${PAIRS} AS numbers FROM (
           SELECT b.id, coalesce(l.used_tokens, 0) AS used_tokens, coalesce(l.used_micro_usd, 0) AS used_micro_usd,
             coalesce(l.own_tokens, 0) AS own_tokens, coalesce(l.own_micro_usd, 0) AS own_micro_usd,
             coalesce(r.tokens, 0) AS reserved_tokens, coalesce(r.micro_usd, 0) AS reserved_micro_usd,
             m.limit_tokens, m.limit_micro_usd
           FROM visible b LEFT JOIN lines l ON l.budget_id = b.id LEFT JOIN reserved r ON r.id = b.id
             LEFT JOIN limits m ON m.budget_id = b.id) AS sums),
       wrong AS (
         SELECT c.id::text AS id, c.numbers AS counters, l.numbers AS ledger FROM counters c JOIN ledger l USING (id)
         WHERE c.numbers <> l.numbers ORDER BY c.id LIMIT ${MAX_SHOWN})
       SELECT (SELECT count(*) FROM counters) AS checked, (SELECT jsonb_agg(to_jsonb(wrong)) FROM wrong) AS discrepancies`,
      [visible],
    );
    return { checked: Number(rows[0]?.checked), discrepancies: rows[0]?.discrepancies ?? [] };
  }

  /** Deletes reservations that ended more than `keepMs` ago. Returns how many it deleted. */
  async pruneReservations(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query(
      `DELETE FROM budget_reservation WHERE (owner, key) IN (SELECT owner, key FROM budget_reservation
         WHERE closed_at < clock_timestamp() - $1 * interval '1 millisecond' LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING 1`,
      [keepMs, limit],
    );
    return rows.length;
  }

  /**
   * Deletes the budgets of trees of runs that had neither a charge nor a new run for `keepMs`, together with their ledger lines.
   * Returns how many trees it deleted. A charge anywhere in a tree also changes its root.
   */
  async pruneRuns(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query<{ roots: string }>(
      `WITH roots AS (
         SELECT b.id FROM budget b
         WHERE b.kind = 'run' AND b.root_id IS NULL AND b.reserved_tokens = 0 AND b.reserved_micro_usd = 0
           AND b.changed_at < clock_timestamp() - $1 * interval '1 millisecond'
           AND NOT EXISTS (SELECT FROM budget c WHERE c.root_id = b.id
             AND c.changed_at >= clock_timestamp() - $1 * interval '1 millisecond')
         LIMIT $2 FOR UPDATE SKIP LOCKED),
       gone AS (
         DELETE FROM budget WHERE id IN (SELECT id FROM roots) OR root_id IN (SELECT id FROM roots) RETURNING id),
       lines AS (DELETE FROM budget_entry WHERE budget_id IN (SELECT id FROM gone))
       SELECT count(*) AS roots FROM roots`,
      [keepMs, limit],
    );
    return Number(rows[0]?.roots);
  }

  /**
   * Replaces the old lines of each budget and window, including an earlier combined line, by one combined line. Returns how many
   * old lines it replaced. The sums and the last limit stay the same, so this needs no lock on the budgets.
   */
  async compact(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query<{ old: string }>(
      `WITH old AS (
         SELECT budget_id, seq, own, window_start FROM budget_entry
         WHERE at < clock_timestamp() - $1 * interval '1 millisecond' AND NOT limit_changed AND kind <> 'carried'
         ORDER BY budget_id, seq LIMIT $2 FOR UPDATE SKIP LOCKED),
       older AS (
         SELECT budget_id, seq FROM budget_entry WHERE kind = 'carried'
           AND (budget_id, own, window_start) IN (SELECT budget_id, own, window_start FROM old) FOR UPDATE SKIP LOCKED),
       gone AS (
         DELETE FROM budget_entry
         WHERE (budget_id, seq) IN (SELECT budget_id, seq FROM old UNION ALL SELECT budget_id, seq FROM older)
         RETURNING *),
       carried AS (
         INSERT INTO budget_entry (budget_id, kind, tokens, micro_usd, own, limit_changed, window_start, marks, note, at)
         SELECT budget_id, 'carried', sum(tokens), sum(micro_usd), own, false, window_start, '{}',
           'the sum of older lines', max(at)
         FROM gone GROUP BY budget_id, own, window_start)
       SELECT count(*) AS old FROM old`,
      [keepMs, limit],
    );
    return Number(rows[0]?.old);
  }
}
