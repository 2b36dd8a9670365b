import type { DomainError } from '#rollcall/platform';
import type { Amount, Budget } from './budget.js';
import type { Reservation } from './reservation.js';

/** The result of one ledger operation. */
export type LedgerOutcome =
  | { ok: true; reservation?: Reservation; budget?: Budget; replayed?: boolean; charged?: Amount }
  | { ok: false; error: DomainError };
