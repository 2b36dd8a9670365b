import type { DomainError } from '#rollcall/platform';
import { type Amount, type Budget, isZero, minus, overflowingUnit, UNITS, ZERO } from '../budget.js';
import { BudgetOverflowError, ReservationSettledError } from '../budget.errors.js';
import type { ChargeMark } from './ledger.operation.js';
import type { Reservation, Usage } from './reservation.js';

const MARKS = ['overdraft', 'late', 'estimated'] as const satisfies ChargeMark[];

/** The outcome of an operation that is not applied. */
interface Rejection {
  readonly ok: false;
  readonly error: DomainError;
}

/** The outcome of an operation that was applied before. */
interface Replay {
  readonly ok: true;
  readonly reservation: Reservation;
  readonly replayed: true;
}

/** The charge of a reservation: the total usage, and the part that is not charged yet. */
interface DueCharge {
  readonly total: Amount;
  readonly due: Amount;
}

/** A charge on one budget, and the amount that is no longer reserved. */
export interface OneCharge {
  due: Amount;
  released: Amount;
  marks: readonly ChargeMark[];
  /** An explanation for the ledger line. */
  note?: string | null;
}

/** The charge of a settlement. Unknown usage is charged as reserved. */
export function settlementOf(reservation: Reservation, usage: Usage): DueCharge {
  const { held } = reservation;
  const before = reservation.used ?? ZERO;
  return dueOf(before, (unit) => usage[unit] ?? before[unit] + held[unit]);
}

/** The usage up to this amount. Returns the same object if nothing exceeds it. */
export function cappedUsage(usage: Usage, most: Amount): Usage {
  const isExceeded = UNITS.some((unit) => (usage[unit] ?? 0) > most[unit]);
  if (!isExceeded) return usage;
  const capped = (unit: keyof Amount): number | null => usage[unit] && Math.min(usage[unit], most[unit]);
  return { ...usage, tokens: capped('tokens'), microUsd: capped('microUsd') };
}

/** The note of a charge that is lower than the reported usage. */
export function cappedNote({ tokens, microUsd }: Usage): string {
  return (
    `Reported: ${tokens ?? 'unknown'} tokens, ${microUsd ?? 'unknown'} microUsd. The charge is limited to a multiple of the ` +
    'reservation; charge the rest with an adjustment, which needs budgets:write.'
  );
}

/** The charge of a reservation that stays open. Unknown usage is charged later. */
export function partOf({ used }: Reservation, usage: Usage): DueCharge {
  const before = used ?? ZERO;
  return dueOf(before, (unit) => usage[unit] ?? before[unit]);
}

/** The usage never decreases: what is charged stays charged. */
function dueOf(before: Amount, totalOf: (unit: keyof Amount) => number): DueCharge {
  const most = (unit: keyof Amount): number => Math.max(before[unit], totalOf(unit));
  const total = { tokens: most('tokens'), microUsd: most('microUsd') };
  return { total, due: minus(total, before) };
}

/** The part of a charge that the reserved amount covers. */
export function coveredPart({ held }: Reservation, due: Amount): Amount {
  return { tokens: Math.min(due.tokens, held.tokens), microUsd: Math.min(due.microUsd, held.microUsd) };
}

/** The reservation after a part of it is charged. `reported` is the part of the charge that reports contained. */
export function chargedInPart<One extends Reservation>(found: One, { total, due }: DueCharge, reported: number): One {
  const held = minus(found.held, coveredPart(found, due));
  return { ...found, held, used: isZero(total) ? null : total, reportedBefore: found.reportedBefore + reported };
}

/** Returns the marks that apply to a ledger line. */
export function marksOf(marks: Partial<Record<ChargeMark, boolean>>): ChargeMark[] {
  return MARKS.filter((mark) => marks[mark]);
}

export function isEstimated(usage: Usage, { held }: Reservation): boolean {
  return usage.tokens === null || (usage.microUsd === null && held.microUsd > 0) || (usage.isEstimated ?? false);
}

/** A retry may repeat the amount, or leave it unknown. Another amount is rejected, because it would not be charged. */
export function repeatedSettlement(found: Reservation, usage: Usage): Rejection | Replay {
  const { key, used } = found;
  const differs = used && UNITS.some((unit) => usage[unit] !== null && usage[unit] !== used[unit]);
  return differs
    ? { ok: false, error: new ReservationSettledError(key, used) }
    : { ok: true, reservation: found, replayed: true };
}

/** The error if a counter would exceed its largest value. */
export function overflowOf(
  budgets: readonly Budget[],
  amount: Amount,
  counterOf: (budget: Budget) => Amount,
): Rejection | undefined {
  for (const budget of budgets) {
    const unit = overflowingUnit(counterOf(budget), amount);
    if (unit) return { ok: false, error: new BudgetOverflowError(budget.id, unit, 'usage') };
  }
  return undefined;
}
