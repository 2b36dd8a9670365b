import type { BudgetView, LedgerEntryView } from '#rollcall/client';
import { count, money, plain } from '../../parts/format.js';
import type { Tone } from '../../parts/parts.js';

export type BudgetUnit = 'tokens' | 'microUsd';
export const BUDGET_UNITS = ['tokens', 'microUsd'] as const;

export function amountText(unit: BudgetUnit, amount: number): string {
  return unit === 'microUsd' ? money(amount) : `${count(amount)} tokens`;
}

/** Amounts of both units; a budget can limit both. */
export function amounts(of: { tokens: number | null; microUsd: number | null }): string {
  const texts = BUDGET_UNITS.flatMap((unit) => {
    const amount = of[unit];
    return amount === null ? [] : [amountText(unit, amount)];
  });
  return texts.join(' · ') || 'unlimited';
}

/** The unit of which the smaller share is left; tokens if nothing is limited. */
export function bindingUnit({ limit, available }: BudgetView): BudgetUnit {
  const left = (unit: BudgetUnit): number => {
    const [most, rest] = [limit[unit], available[unit]];
    if (most === null || rest === null) return Infinity;
    return most === 0 ? 0 : rest / most;
  };
  return left('microUsd') < left('tokens') ? 'microUsd' : 'tokens';
}

/** An amount in the unit that binds. */
export function bindingText(budget: BudgetView, of: { tokens: number | null; microUsd: number | null }): string {
  const unit = bindingUnit(budget);
  const amount = of[unit];
  return amount === null ? 'unlimited' : amountText(unit, amount);
}

/** What is used, held by calls in progress, and left, as shares of the limit. Undefined if the unit is unlimited. */
export function sharesOf({ limit, usage, reserved, available }: BudgetView, unit: BudgetUnit) {
  const most = limit[unit];
  if (most === null) return undefined;
  const share = (amount: number): number => (most === 0 ? 0 : Math.min(1, Math.max(0, amount / most)));
  return { used: share(usage.subtree[unit]), held: share(reserved[unit]), left: share(available[unit] ?? 0) };
}

export const CONDITIONS: Record<BudgetView['condition'], { word: string; tone: Tone }> = {
  ample: { word: 'ample', tone: 'good' },
  low: { word: 'low', tone: 'warn' },
  exhausted: { word: 'exhausted', tone: 'bad' },
};

const WINDOWS: Record<BudgetView['window'], string> = { total: 'in total', daily: 'per day', monthly: 'per month' };

export function windowText({ window }: Pick<BudgetView, 'window'>): string {
  return WINDOWS[window];
}

/** Whose budget it is. */
export function subjectText({ kind, subject }: Pick<BudgetView, 'kind' | 'subject'>): string {
  return kind === 'fleet' ? 'The whole fleet' : plain(subject);
}

const KINDS: Record<LedgerEntryView['kind'], string> = {
  opened: 'opened',
  charged: 'charged',
  topped_up: 'topped up',
  adjusted: 'adjusted',
  declared: 'declared',
  reported: 'reported',
  refreshed: 'refreshed',
  carried: 'carried over',
};

export function entryText({ kind }: LedgerEntryView): string {
  return KINDS[kind];
}
