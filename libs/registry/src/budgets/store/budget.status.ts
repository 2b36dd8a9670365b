import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { LowBudgetPolicy } from '../budget.js';

interface SharedBudget {
  kind: string;
  subject: string;
  window: string;
  unit: 'tokens' | 'usd';
  /** The used and reserved share of the limit. */
  ratio: number;
}

interface HeldTotals {
  count: number;
  tokens: number;
  microUsd: number;
}

/** How many budgets are low or exhausted. */
export interface BudgetConditions {
  low: number;
  exhausted: number;
}

/** The maximum number of budgets in the metrics. Only budgets of the fleet and of namespaces are included; all others are too many. */
const MAX_BUDGETS = 200;

/** The totals of all budgets, for an operator. */
@Injectable()
export class BudgetStatus {
  constructor(private readonly db: Database) {}

  /** All reservations that are held now. */
  async held(): Promise<HeldTotals> {
    const [row] = await this.db.query<HeldTotals>(
      `SELECT count(*)::float8 AS count, coalesce(sum(held_tokens), 0)::float8 AS tokens,
         coalesce(sum(held_micro_usd), 0)::float8 AS "microUsd" FROM budget_reservation WHERE state = 'held'`,
    );
    return row ?? { count: 0, tokens: 0, microUsd: 0 };
  }

  /** Counts the budgets of a namespace by their condition, without the budgets of runs. Must decide like `conditionOf`. */
  async conditions(namespace: string, { fraction, tokens }: LowBudgetPolicy): Promise<BudgetConditions> {
    const [row] = await this.db.query<BudgetConditions>(
      `SELECT count(*) FILTER (WHERE condition = 1)::integer AS low, count(*) FILTER (WHERE condition = 2)::integer AS exhausted
       FROM (
         SELECT max(CASE WHEN used >= most THEN 2
           WHEN most - used < coalesce(low, greatest(most * $2::float8, CASE WHEN kind = 'agent' AND unit = 'tokens' THEN $3 ELSE 0 END))
           THEN 1 ELSE 0 END) AS condition
         FROM budget b, LATERAL (VALUES
           ('tokens', limit_tokens, low_tokens, CASE WHEN window_end <= clock_timestamp() THEN 0 ELSE used_tokens END),
           ('usd', limit_micro_usd, low_micro_usd, CASE WHEN window_end <= clock_timestamp() THEN 0 ELSE used_micro_usd END)
         ) AS u (unit, most, low, used)
         WHERE b.namespace = $1 AND b.kind <> 'run' AND most IS NOT NULL GROUP BY b.id) AS judged`,
      [namespace, fraction, tokens],
    );
    return row ?? { low: 0, exhausted: 0 };
  }

  async shared(): Promise<SharedBudget[]> {
    return await this.db.query<SharedBudget>(
      `SELECT kind, subject, window_kind AS window, unit, (used + reserved)::float8 / greatest(most, 1) AS ratio
       FROM budget b, LATERAL (VALUES
         ('tokens', limit_tokens, CASE WHEN window_end <= clock_timestamp() THEN 0 ELSE used_tokens END, reserved_tokens),
         ('usd', limit_micro_usd, CASE WHEN window_end <= clock_timestamp() THEN 0 ELSE used_micro_usd END, reserved_micro_usd)
       ) AS u (unit, most, used, reserved)
       WHERE kind IN ('fleet', 'namespace') AND most IS NOT NULL ORDER BY b.id LIMIT ${MAX_BUDGETS}`,
    );
  }
}
