import type { Amount, Limit } from './budget.js';

/** Why a counter or a limit changed. What only holds or lets go is in the reservations, not here. */
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

/** What is remarkable about a charge: above its reservation, after its expiry, or by estimate. */
export const CHARGE_MARKS = ['overdraft', 'late', 'estimated'] as const;
export type ChargeMark = (typeof CHARGE_MARKS)[number];

/** One line of one budget's ledger. The sum of a window's lines is what the budget says was used in it. */
export interface LedgerLine {
  budgetId: number;
  kind: EntryKind;
  amount: Amount;
  /** Of this run itself, and not of one below it. */
  own: boolean;
  /** The limit from here on, where the line changed it. */
  limit: Limit | null;
  windowStart: number;
  reservation: { owner: string; key: string } | null;
  marks: ChargeMark[];
  by: string | null;
  note: string | null;
}
