import { MAX_AMOUNT } from '../../budgets/budget.js';
import { BidInvalidError } from '../contract.errors.js';

/** What an agent offers: to do the task for this price within this time. */
export interface Offer {
  /** In micro-dollars. */
  readonly price: number;
  readonly etaMs: number;
  /** How sure the agent is that it will succeed, from 0 to 1. */
  readonly confidence: number;
  readonly note: string | null;
}

/** The highest price and time that the announcer accepts. Null means no limit. */
export interface ContractLimits {
  readonly price: number | null;
  readonly etaMs: number | null;
}

export const MAX_ETA_MS = 30 * 86_400_000;
const MAX_NOTE_LENGTH = 500;
/** An answer may be replaced at most this many times, so that a transcript stays short. */
export const MAX_REPLACEMENTS = 20;

/** Throws unless the offer is complete, finite and within the limits of the contract. */
export function checkOffer(offer: Offer, limits: ContractLimits): void {
  const { price, etaMs, confidence, note } = offer;
  if (!Number.isSafeInteger(price) || price < 0 || price > MAX_AMOUNT)
    throw new BidInvalidError(`price must be a whole number of micro-dollars from 0 to ${MAX_AMOUNT}`);
  if (!Number.isSafeInteger(etaMs) || etaMs < 1 || etaMs > MAX_ETA_MS)
    throw new BidInvalidError(`etaMs must be a whole number from 1 to ${MAX_ETA_MS}`);
  if (!(confidence >= 0 && confidence <= 1)) throw new BidInvalidError('confidence must be a number from 0 to 1');
  checkNote(note);
  if (limits.price !== null && price > limits.price)
    throw new BidInvalidError(`price is above the limit of the contract, ${limits.price} micro-dollars`);
  if (limits.etaMs !== null && etaMs > limits.etaMs)
    throw new BidInvalidError(`etaMs is above the limit of the contract, ${limits.etaMs} ms`);
}

/** Throws unless the note can be stored. The API has already checked the notes in requests, but the note of a hosted agent is unchecked. */
export function checkNote(note: string | null): void {
  if (note === null) return;
  if (note.length > MAX_NOTE_LENGTH) throw new BidInvalidError(`note must have at most ${MAX_NOTE_LENGTH} characters`);
  if (note.includes('\0')) throw new BidInvalidError('note must not contain a NUL character');
}
