import { type Amount, plus, type Unit, UNITS, ZERO } from '../budget.js';
import { ReservationTooLargeError } from '../budget.errors.js';
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
  longestMs: 3_600_000,
};

/**
 * The value of a reserved token if no money was reserved: 100 dollars per million tokens. A caller that reserves only tokens can
 * then settle money too, but a reservation of one token does not allow a large charge.
 */
const MICRO_USD_PER_TOKEN = 100;

/** What a settlement may charge at most: a multiple of the reservation, including the part that is charged already. */
export function mostOf({ held, used }: Pick<Reservation, 'held' | 'used'>, multiple: number): Amount {
  if (multiple === 0) return { tokens: Infinity, microUsd: Infinity };
  const { tokens, microUsd } = plus(held, used ?? ZERO);
  return { tokens: multiple * tokens, microUsd: multiple * (microUsd || tokens * MICRO_USD_PER_TOKEN) };
}

/** Returns the first unit that exceeds what a settlement may charge, with its limit. */
export function excessOf(used: Amount, most: Amount): { unit: Unit; limit: number } | undefined {
  const unit = UNITS.find((one) => used[one] > most[one]);
  return unit && { unit, limit: most[unit] };
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
