import { LARGEST_AMOUNT, UNITS, type Amount } from './budget.js';
import { InvalidBudgetError } from './budget.errors.js';

export type ReservationState = 'held' | 'settled' | 'released' | 'expired';

/** Whose budgets a call is on. The fleet's always is; of an agent or a run that is named there must be one. */
export interface Scopes {
  agentId: string | null;
  callerId: string | null;
  runId: string | null;
}

/** A promise of so much, out of every budget concerned, until it is settled, released, or its time is over. */
export interface Reservation {
  /** Whose it is; keys are each owner's own. */
  readonly owner: string;
  readonly key: string;
  readonly scopes: Scopes;
  readonly budgetIds: readonly number[];
  readonly held: Amount;
  readonly state: ReservationState;
  /** What was really used, once it is settled. */
  readonly used: Amount | null;
  /** It used more than it had reserved. */
  readonly overdraft: boolean;
  /** What was used is not known; what was reserved stands for it. */
  readonly estimated: boolean;
  readonly expiresAt: number;
}

export interface ReserveRequest {
  owner: string;
  /** Reserving twice with one key reserves once. */
  key: string;
  scopes: Scopes;
  amount: Amount;
  /** Take fewer tokens if there are not so many, down to this. */
  atLeastTokens?: number;
  ttlMs: number;
}

/** Null is "not known", which is not the same as nothing. */
export interface Usage {
  tokens: number | null;
  microUsd: number | null;
}

export const SHORTEST_TTL_MS = 1_000;
export const LONGEST_TTL_MS = 86_400_000;
export const DEFAULT_TTL_MS = 900_000;

/** One bad operation would spoil the batch it goes with, so each is looked at before. */
export function checkRequest(ask: ReserveRequest): void {
  checkKey(ask);
  checkAmount(ask.amount);
  checkTtl(ask.ttlMs);
  const { atLeastTokens = 0, amount } = ask;
  if (!(atLeastTokens >= 0 && atLeastTokens <= amount.tokens))
    throw new InvalidBudgetError('The least number of tokens must not be more than what is asked for.');
}

export function checkTtl(ttlMs: number): void {
  if (!(ttlMs >= SHORTEST_TTL_MS && ttlMs <= LONGEST_TTL_MS))
    throw new InvalidBudgetError(`A reservation lives ${SHORTEST_TTL_MS} to ${LONGEST_TTL_MS} ms, not ${ttlMs}.`);
}

export function checkKey({ owner, key }: { owner: string; key: string }): void {
  const isFine = (text: string): boolean => text.length > 0 && text.length <= LONGEST_KEY && !text.includes('\0');
  if (!isFine(owner) || !isFine(key))
    throw new InvalidBudgetError(`A reservation needs an owner and a key of 1 to ${LONGEST_KEY} characters.`);
}

export function checkAmount(amount: Amount): void {
  for (const unit of UNITS) {
    const count = amount[unit];
    if (!Number.isSafeInteger(count) || count < 0 || count > LARGEST_AMOUNT)
      throw new InvalidBudgetError(`${unit} must be a whole number from 0 to ${LARGEST_AMOUNT}, not ${count}.`);
  }
}

const LONGEST_KEY = 300;
