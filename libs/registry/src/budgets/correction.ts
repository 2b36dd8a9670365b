import { isNothing, minus, NOTHING, plus, UNITS, type Amount, type Budget, type Limit, type Unit } from './budget.js';
import type { EntryKind, LedgerLine } from './ledger.entry.js';

/** A change to one budget that is no spending of a reservation. What is left out stays. */
export interface Correction {
  budgetId: number;
  as: EntryKind;
  /** Added to the limit. */
  raise?: Partial<Amount>;
  limit?: Partial<Limit>;
  /** Exactly so much was used. */
  used?: Partial<Amount>;
  /** So much at least was used: never lowers the count. */
  usedAtLeast?: Partial<Amount>;
  /** Only while this window lasts: what was used in one says nothing about the next. */
  inWindow?: number;
  declared?: boolean;
  by: string | null;
  note: string | null;
}

export type Corrected = { budget: Budget; line: LedgerLine | null } | { unlimited: Unit };

/** The budget after a correction, and the line that tells of it; the same budget when nothing changes. */
export function corrected(budget: Budget, correction: Correction): Corrected {
  if (correction.inWindow !== undefined && correction.inWindow !== budget.windowStart) return { budget, line: null };
  const limit = newLimit(budget, correction);
  if ('unlimited' in limit) return limit;
  const amount = minus(newUsed(budget, correction), budget.used);
  const isLimit = UNITS.some((unit) => limit[unit] !== budget.limit[unit]);
  const declared = correction.declared ?? budget.declared;
  const isLine = isLimit || !isNothing(amount);
  if (!isLine && declared === budget.declared) return { budget, line: null };
  const next = { ...budget, limit, declared, used: plus(budget.used, amount), own: plus(budget.own, amount) };
  return { budget: next, line: isLine ? lineOf(budget, correction, amount, isLimit ? limit : null) : null };
}

function lineOf(budget: Budget, { as: kind, by, note }: Correction, amount: Amount, limit: Limit | null): LedgerLine {
  const at = { budgetId: budget.id, windowStart: budget.windowStart, reservation: null };
  return { ...at, kind, amount, own: true, limit, marks: [], by, note };
}

function newLimit({ limit }: Budget, { raise, limit: wanted }: Correction): Limit | { unlimited: Unit } {
  const next: Limit = { ...limit, ...wanted };
  for (const unit of UNITS) {
    const more = raise?.[unit];
    if (more === undefined) continue;
    const most = next[unit];
    if (most === null) return { unlimited: unit };
    next[unit] = most + more;
  }
  return next;
}

function newUsed({ used }: Budget, { used: exact, usedAtLeast = NOTHING }: Correction): Amount {
  const known = { ...used, ...exact };
  return {
    tokens: Math.max(known.tokens, usedAtLeast.tokens ?? 0),
    microUsd: Math.max(known.microUsd, usedAtLeast.microUsd ?? 0),
  };
}
