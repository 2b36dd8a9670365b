import { BudgetOverflowError, BudgetUnlimitedError } from '../budget.errors.js';
import { type Amount, type Budget, isZero, type Limit, MAX_COUNT, minus, plus, UNITS, ZERO } from '../budget.js';
import type { UsageReport } from '../store/budget.store.js';
import type { Correction, LedgerLine, LedgerOp } from './ledger.operation.js';
import { afterAdjustment, afterReport, chargeOfReport, type ReportState } from './reported.usage.js';

type Corrected = { budget: Budget; line: LedgerLine | null } | { error: BudgetUnlimitedError | BudgetOverflowError };

/** Returns the corrected budget and its ledger line; the same budget and no line if nothing changes. */
export function corrected(budget: Budget, correction: Correction): Corrected {
  if (correction.inWindow !== undefined && correction.inWindow !== budget.windowStart) return { budget, line: null };
  const limit = newLimit(budget, correction);
  if ('error' in limit) return limit;
  const amount = minus(newUsed(budget, correction), budget.used);
  const changesLimit = UNITS.some((unit) => limit[unit] !== budget.limit[unit]);
  const declared = correction.declared ?? budget.declared;
  const needsLine = changesLimit || !isZero(amount);
  if (!needsLine && declared === budget.declared) return { budget, line: null };
  const counters = { used: plus(budget.used, amount), own: plus(budget.own, amount) };
  const next = { ...budget, ...counters, limit, declared, reports: newReports(budget, correction, amount.tokens) };
  return { budget: next, line: needsLine ? lineOf(budget, correction, amount, changesLimit ? limit : null) : null };
}

function lineOf(budget: Budget, { as: kind, by, note }: Correction, amount: Amount, limit: Limit | null): LedgerLine {
  const at = { budgetId: budget.id, windowStart: budget.windowStart, reservation: null };
  return { ...at, kind, amount, own: true, limit, marks: [], by, note };
}

function newLimit(
  { id, limit }: Budget,
  { raise, limit: wanted }: Correction,
): Limit | Extract<Corrected, { error: unknown }> {
  const next: Limit = { ...limit, ...wanted };
  for (const unit of UNITS) {
    const more = raise?.[unit];
    if (more === undefined) continue;
    const most = next[unit];
    if (most === null) return { error: new BudgetUnlimitedError(id, unit) };
    if (most > MAX_COUNT - more) return { error: new BudgetOverflowError(id, unit, 'limit') };
    next[unit] = most + more;
  }
  return next;
}

function newUsed(budget: Budget, { used: exact, usedAtLeast = ZERO, reportedTotal = 0 }: Correction): Amount {
  const { used } = budget;
  if (reportedTotal > 0) return { ...used, tokens: used.tokens + chargeOfReport(budget, reportedTotal) };
  const known = { ...used, ...exact };
  return {
    tokens: Math.max(known.tokens, usedAtLeast.tokens ?? 0),
    microUsd: Math.max(known.microUsd, usedAtLeast.microUsd ?? 0),
  };
}

/** `tokens` is the difference that the correction makes to the usage. Only the total budget of an agent receives reports. */
function newReports({ reports, window }: Budget, { as, used, reportedTotal }: Correction, tokens: number): ReportState {
  if (used?.tokens !== undefined) return afterAdjustment(reports, tokens);
  const isReport = reportedTotal !== undefined || (as === 'refreshed' && window === 'total');
  return isReport ? afterReport(reports, tokens) : reports;
}

/** Returns the operation that applies a report. It never lowers a counter, so repeated and late reports are harmless. */
export function usageCorrection({ budgetId, tokens }: UsageReport): LedgerOp {
  const facts = { budgetId, as: 'reported' as const, by: null, note: null };
  return { op: 'correct', correction: { ...facts, reportedTotal: tokens } };
}
