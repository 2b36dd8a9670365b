import { available, type Amount, type Budget } from './budget.js';
import type { Reservation, ReserveRequest } from './reservation.js';

/** Reduces the tokens to what all budgets have left, if the request allows fewer. */
export function fittingAmount({ amount, atLeastTokens }: ReserveRequest, budgets: readonly Budget[]): Amount {
  if (atLeastTokens === undefined) return amount;
  const most = budgets.map((budget) => available(budget).tokens ?? Infinity);
  const tokens = Math.min(amount.tokens, ...most);
  return tokens >= atLeastTokens ? { ...amount, tokens } : amount;
}

/** Whether a repeated request with the same key asks for the reservation that exists. */
export function isSameRequest({ scopes, held }: Reservation, request: ReserveRequest): boolean {
  const least = request.atLeastTokens ?? request.amount.tokens;
  return (
    scopes.agentId === request.scopes.agentId &&
    scopes.callerId === request.scopes.callerId &&
    scopes.runId === request.scopes.runId &&
    held.microUsd === request.amount.microUsd &&
    held.tokens <= request.amount.tokens &&
    held.tokens >= Math.min(least, request.amount.tokens)
  );
}
