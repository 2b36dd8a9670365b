import { InvalidBudgetError } from '../budget.errors.js';
import { type Amount, available, type Budget, MAX_AMOUNT, plus, remaining, UNITS, ZERO } from '../budget.js';

export type ReservationState = 'held' | 'settled' | 'released' | 'expired';

/**
 * The subjects whose budgets a call concerns, as qualified ids of one namespace. The budgets of the namespace and of the fleet are
 * concerned, too. A named agent or run must have a budget, unless the request allows an agent without one.
 */
export interface Scopes {
  agentId: string | null;
  callerId: string | null;
  runId: string | null;
}

/** An amount held on every budget that a call concerns, until it is settled, released or expired. */
export interface Reservation {
  /**
   * The qualified id of the principal that opened the reservation. Its namespace is the namespace of the reservation, so the same
   * key names different reservations in different namespaces.
   */
  readonly owner: string;
  readonly key: string;
  readonly scopes: Scopes;
  readonly budgetIds: readonly number[];
  readonly held: Amount;
  /** The part of the reserved amount that was added for later calls. */
  readonly ahead: Amount;
  /** The tokens that reports of the agent had charged when the reservation was opened. */
  readonly reportedBefore: number;
  readonly state: ReservationState;
  /** The actual usage, after the settlement. */
  readonly used: Amount | null;
  /** Whether the usage exceeds the reserved amount. */
  readonly overdraft: boolean;
  /** Whether the usage is unknown, and the reserved amount was charged instead. */
  readonly estimated: boolean;
  readonly expiresAt: number;
}

export interface ReserveRequest {
  owner: string;
  /** A repeated request with the same key returns the same reservation. */
  key: string;
  scopes: Scopes;
  /** Accepts an agent without a budget. By default, the request is rejected if the agent has none. */
  agentMayLackBudget?: boolean;
  /** The principal that must own the agent and the run. Absent: any agent and run. */
  onlyOwnedBy?: string;
  /**
   * The principal that may hold only its share of budgets that others use, too: the budgets of the agents that it registered are its own.
   * Null: an unknown principal. Absent: the reservation is not bounded by a share.
   */
  shareOf?: string | null;
  amount: Amount;
  /** If not enough tokens are left, reserve fewer, but at least this many. */
  atLeastTokens?: number;
  /** Reserve this in addition, for later calls, unless it could keep other calls from their share of a limited budget. */
  ahead?: Amount;
  /** The price of the call is unknown. The request is rejected if one of the budgets limits money. */
  isUnpriced?: boolean;
  ttlMs: number;
}

/** Null means unknown, which is not the same as 0. */
export interface Usage {
  tokens: number | null;
  microUsd: number | null;
  /** Whether the numbers contain the estimate of a call with unknown usage. */
  isEstimated?: boolean;
}

const MIN_TTL_MS = 1_000;
export const MAX_TTL_MS = 86_400_000;
export const DEFAULT_TTL_MS = 900_000;

/** Validates a request before it joins a batch, because one invalid operation would make the whole batch fail. */
export function checkRequest(request: ReserveRequest): void {
  checkKey(request);
  checkAmount(request.amount);
  checkTtl(request.ttlMs);
  const { atLeastTokens = 0, amount, ahead } = request;
  if (ahead) checkAmount(plus(amount, ahead));
  if (!(atLeastTokens >= 0 && atLeastTokens <= amount.tokens))
    throw new InvalidBudgetError(`atLeastTokens must be from 0 to the requested tokens (${amount.tokens}).`);
}

export function checkTtl(ttlMs: number): void {
  if (!(ttlMs >= MIN_TTL_MS && ttlMs <= MAX_TTL_MS))
    throw new InvalidBudgetError(
      `The lifetime of a reservation must be from ${MIN_TTL_MS} to ${MAX_TTL_MS} ms, not ${ttlMs}.`,
    );
}

export function checkKey({ owner, key }: { owner: string; key: string }): void {
  const isValid = (text: string): boolean => text.length > 0 && text.length <= MAX_KEY_LENGTH && !text.includes('\0');
  if (!isValid(owner) || !isValid(key))
    throw new InvalidBudgetError(
      `The owner and the key of a reservation must have 1 to ${MAX_KEY_LENGTH} characters, without NUL.`,
    );
}

/** The usage that somebody outside reports. A number that is not a count is unknown. */
export function countable({ tokens, microUsd, ...rest }: Usage): Usage {
  const valid = (count: number | null): number | null =>
    count !== null && count >= 0 ? Math.min(Math.ceil(count), MAX_AMOUNT) : null;
  return { ...rest, tokens: valid(tokens), microUsd: valid(microUsd) };
}

export function checkAmount(amount: Amount): void {
  for (const unit of UNITS) {
    const count = amount[unit];
    if (!Number.isSafeInteger(count) || count < 0 || count > MAX_AMOUNT)
      throw new InvalidBudgetError(`${unit} must be a whole number from 0 to ${MAX_AMOUNT}, not ${count}.`);
  }
}

/** A subject of OpenID Connect has up to 255 characters, and the qualified id adds the namespace. */
const MAX_KEY_LENGTH = 400;

/** An amount for later calls is reserved only while all reserved amounts are at most this share of what is left of each budget. */
const AHEAD_SHARE = 0.1;

/** What a reservation holds. `ahead` is the part for later calls. */
export interface FittingAmount {
  readonly held: Amount;
  readonly ahead: Amount;
}

/** Adds the amount for later calls if the budgets have plenty left, or reduces the tokens to what is left, and to `mostTokens`, if the request allows fewer. */
export function fittingAmount(
  request: ReserveRequest,
  budgets: readonly Budget[],
  mostTokens = Infinity,
): FittingAmount {
  const { amount, ahead } = request;
  if (ahead) {
    const held = plus(amount, ahead);
    if (budgets.every((budget) => hasPlentyFor(budget, held))) return { held, ahead };
  }
  return { held: availableAmount(request, budgets, mostTokens), ahead: ZERO };
}

function availableAmount(
  { amount, atLeastTokens }: ReserveRequest,
  budgets: readonly Budget[],
  mostTokens: number,
): Amount {
  if (atLeastTokens === undefined) return amount;
  const most = budgets.map((budget) => available(budget).tokens ?? Infinity);
  const tokens = Math.min(amount.tokens, mostTokens, ...most);
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
