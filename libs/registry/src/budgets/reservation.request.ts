import { available, type Amount, type Budget, plus, remaining, UNITS, ZERO } from './budget.js';
import type { Reservation, ReserveRequest } from './reservation.js';

/** An amount for later calls is reserved only while all reserved amounts are at most this share of what is left of each budget. */
const AHEAD_SHARE = 0.1;

/** What a reservation holds. `ahead` is the part for later calls. */
export interface FittingAmount {
  readonly held: Amount;
  readonly ahead: Amount;
}

/** Adds the amount for later calls if the budgets have plenty left, or reduces the tokens to what is left, if the request allows fewer. */
export function fittingAmount(request: ReserveRequest, budgets: readonly Budget[]): FittingAmount {
  const { amount, ahead } = request;
  if (ahead) {
    const held = plus(amount, ahead);
    if (budgets.every((budget) => hasPlentyFor(budget, held))) return { held, ahead };
  }
  return { held: availableAmount(request, budgets), ahead: ZERO };
}

function availableAmount({ amount, atLeastTokens }: ReserveRequest, budgets: readonly Budget[]): Amount {
  if (atLeastTokens === undefined) return amount;
  const most = budgets.map((budget) => available(budget).tokens ?? Infinity);
  const tokens = Math.min(amount.tokens, ...most);
  return tokens >= atLeastTokens ? { ...amount, tokens } : amount;
}

function hasPlentyFor(budget: Budget, amount: Amount): boolean {
  const left = remaining(budget);
  const reserved = plus(budget.reserved, amount);
  return UNITS.every((unit) => reserved[unit] <= (left[unit] ?? Infinity) * AHEAD_SHARE);
}

/** Whether a repeated request with the same key asks for the reservation that exists. */
export function isSameRequest({ scopes, held }: Reservation, request: ReserveRequest): boolean {
  return (
    scopes.agentId === request.scopes.agentId &&
    scopes.callerId === request.scopes.callerId &&
    scopes.runId === request.scopes.runId &&
    isPossible(held, request)
  );
}

function isPossible(held: Amount, { amount, atLeastTokens = amount.tokens, ahead }: ReserveRequest): boolean {
  const all = ahead && plus(amount, ahead);
  if (all && UNITS.every((unit) => held[unit] === all[unit])) return true;
  return held.microUsd === amount.microUsd && held.tokens <= amount.tokens && held.tokens >= atLeastTokens;
}
