import type { Amount, Limit } from './budget.js';

/** Why a counter or a limit changed. The ledger does not contain reserved amounts: `budget_reservation` does. */
export const ENTRY_KINDS = [
  'opened',
  'charged',
  'topped_up',
  'adjusted',
  'declared',
  'reported',
  'refreshed',
  'carried',
] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/**
 * `overdraft`: the charge exceeds its reservation. `late`: the reservation had expired. `estimated`: the usage is unknown.
 * `reported`: the charge is reduced by tokens that reports of the agent charged during the call.
 */
const CHARGE_MARKS = ['overdraft', 'late', 'estimated', 'reported'] as const;
export type ChargeMark = (typeof CHARGE_MARKS)[number];

/** One line in the ledger of a budget. The lines of a window add up to the usage of that window. */
export interface LedgerLine {
  budgetId: number;
  kind: EntryKind;
  amount: Amount;
  /** Whether the run itself used the amount, not one of its descendants. */
  own: boolean;
  /** The new limit, if the line changed it. */
  limit: Limit | null;
  windowStart: number;
  reservation: { owner: string; key: string } | null;
  marks: ChargeMark[];
  by: string | null;
  note: string | null;
}
