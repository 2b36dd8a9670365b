import type { DomainError } from '#rollcall/platform';
import type { Amount, Budget } from './budget.js';
import type { Reservation } from './reservation.js';

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
