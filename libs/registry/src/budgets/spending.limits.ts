import { UNITS, type Amount, type Unit } from './budget.js';
import { ReservationTooLargeError } from './budget.errors.js';
import type { Reservation, ReserveRequest } from './reservation.js';

/** Limits for one operation of a caller that may spend but not manage budgets. 0 disables a limit. */
export interface SpendingLimits {
  /** A settlement charges at most this many times its reservation. */
  settleMultiple: number;
  /** The largest amount of one reservation. */
  largest: Amount;
  /** The longest lifetime of a reservation, counted from each reserve or renew. */
  longestMs: number;
}

/** The spending limits apply to `limited` callers. `trusted` callers have the permission `budgets:write` or are internal code. */
export type Spender = 'limited' | 'trusted';

export const DEFAULT_SPENDING_LIMITS: SpendingLimits = {
  settleMultiple: 10,
  largest: { tokens: 100_000_000, microUsd: 10_000_000_000 },
  longestMs: 86_400_000,
};

/**
 * The value of a reserved token if no money was reserved: 100 dollars per million tokens. A caller that reserves only tokens can
 * then settle money too, but a reservation of one token does not allow a large charge.
 */
const MICRO_USD_PER_TOKEN = 100;

/** Returns the first unit that exceeds the multiple of its reservation, with its limit. */
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
