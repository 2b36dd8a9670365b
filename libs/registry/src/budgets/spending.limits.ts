import { UNITS, type Amount, type Unit } from './budget.js';
import { ReservationTooLargeError } from './budget.errors.js';
import type { Reservation, ReserveRequest } from './reservation.js';

/** Limits on one operation of a caller that may spend but not manage budgets. 0 switches a limit off. */
export interface SpendingLimits {
  /** A settlement charges at most this many times its reservation. */
  settleMultiple: number;
  /** The largest amount of one reservation. */
  largest: Amount;
  /** The longest life of a reservation, counted from each reserve or renew. */
  longestMs: number;
}

/** `limited` callers obey the spending limits; `trusted` ones (permission `budgets:write`, our own code) do not. */
export type Spender = 'limited' | 'trusted';

export const DEFAULT_SPENDING_LIMITS: SpendingLimits = {
  settleMultiple: 10,
  largest: { tokens: 100_000_000, microUsd: 10_000_000_000 },
  longestMs: 86_400_000,
};

/**
 * What a reserved token counts for when no money was reserved: 100 dollars per million tokens. Callers that reserve tokens
 * only can then still settle the money, and one token still does not pay for a fleet.
 */
const MICRO_USD_PER_TOKEN = 100;

/** The first unit that exceeds the multiple of its reservation, with the most that it may be. */
export function excessOf(
  used: Amount,
  { held }: Pick<Reservation, 'held'>,
  multiple: number,
): { unit: Unit; limit: number } | undefined {
  if (multiple === 0) return undefined;
  const basis: Amount = { ...held, microUsd: held.microUsd || held.tokens * MICRO_USD_PER_TOKEN };
  const unit = UNITS.find((one) => used[one] > multiple * basis[one]);
  return unit && { unit, limit: multiple * basis[unit] };
}

export function checkSize({ amount, ttlMs }: Pick<ReserveRequest, 'amount' | 'ttlMs'>, limits: SpendingLimits): void {
  for (const unit of UNITS) {
    const limit = limits.largest[unit];
    if (limit > 0 && amount[unit] > limit) throw new ReservationTooLargeError(unit, amount[unit], limit);
  }
  checkLife(ttlMs, limits);
}

export function checkLife(ttlMs: number, { longestMs }: SpendingLimits): void {
  if (longestMs > 0 && ttlMs > longestMs)
    throw new ReservationTooLargeError('ttlSeconds', ttlMs / 1_000, longestMs / 1_000);
}
