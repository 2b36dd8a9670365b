import type { DomainError } from '#rollcall/platform';
import type { Amount, Budget, Limit } from '../budget.js';
import type { Reservation, ReserveRequest, Usage } from './reservation.js';

export interface ReservationKey {
  owner: string;
  key: string;
}

export type LedgerOp =
  | { op: 'reserve'; request: ReserveRequest }
  /** Makes a reservation larger. Has no effect if it already holds this amount. */
  | { op: 'raise'; of: ReservationKey; to: Amount }
  /**
   * With `atMostTimes`, a settlement of more than this multiple of the reserved amount is rejected, or with `isCapped` charged only up
   * to it. The ledger line then states the whole usage.
   */
  | { op: 'settle'; of: ReservationKey; usage: Usage; atMostTimes?: number; isCapped?: boolean }
  /** Charges a part of a reservation, which stays open. The usage is the total so far. It has the same limit as a settlement. */
  | { op: 'charge'; of: ReservationKey; usage: Usage; atMostTimes?: number; isCapped?: boolean }
  | { op: 'release'; of: ReservationKey }
  /** Extends the lifetime to at least `ttlMs` from now. */
  | { op: 'renew'; of: ReservationKey; ttlMs: number }
  /** Has no effect before the reservation expires. */
  | { op: 'expire'; of: ReservationKey }
  | { op: 'correct'; correction: Correction }
  /** Begins a new window if the old one has ended. */
  | { op: 'roll'; budgetId: number };

/** A change of one budget outside of a reservation. A missing field stays unchanged. */
export interface Correction {
  budgetId: number;
  as: EntryKind;
  /** The amount that is added to the limit. */
  raise?: Partial<Amount>;
  limit?: Partial<Limit>;
  /** Sets the usage to this amount. */
  used?: Partial<Amount>;
  /** Raises the usage to this amount; never lowers it. */
  usedAtLeast?: Partial<Amount>;
  /** All tokens so far, as the agent reports them. */
  reportedTotal?: number;
  /** The start of a window. The correction applies only in that window. */
  inWindow?: number;
  declared?: boolean;
  by: string | null;
  note: string | null;
}

/** The result of one ledger operation. */
export type LedgerOutcome =
  | {
      ok: true;
      reservation?: Reservation;
      /** The budgets of the run that the reservation concerns and of the runs above it, after the operation. */
      runs?: readonly Budget[];
      budget?: Budget;
      replayed?: boolean;
      charged?: Amount;
    }
  | { ok: false; error: DomainError };

/** Whether the operations after this one are not applied, because they need the reservation that was rejected. */
export function isRejectedReservation({ op }: LedgerOp, { ok }: LedgerOutcome): boolean {
  return !ok && (op === 'reserve' || op === 'raise');
}

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
