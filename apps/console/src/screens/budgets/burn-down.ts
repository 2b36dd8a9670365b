import type { BudgetView, LedgerEntryView, UnitForecastView } from '#rollcall/client';
import type { BudgetUnit } from './budget-words.js';

export interface BurnDown {
  /** Seconds since 1970, ascending. */
  readonly times: number[];
  /** What was left at each time; of an unlimited budget, what was used. */
  readonly values: number[];
  readonly forecast: { readonly at: number; readonly value: number }[];
}

const HOUR_MS = 3_600_000;

/**
 * What was left over the window, from the ledger, and what the rate of the last hours makes of it. It goes back from the present numbers, so it
 * is right also if the ledger is longer than what was read. `entries` are the newest, newest first.
 */
export function burnDownOf(
  budget: BudgetView,
  entries: readonly LedgerEntryView[],
  unit: BudgetUnit,
  rate: UnitForecastView | undefined,
  now: number,
): BurnDown {
  const inWindow = entries.filter(({ windowStart }) => windowStart === budget.windowStart);
  const isLimited = budget.limit[unit] !== null;
  let used = budget.usage.subtree[unit];
  let limit = budget.limit[unit];
  const value = (): number => (isLimited ? Math.max(0, (limit ?? 0) - used) : used);
  const left = budget.available[unit] ?? value(); // what calls in progress hold cannot be spent
  const points = [{ at: now, value: left }];
  for (const [index, entry] of inWindow.entries()) {
    points.push({ at: Date.parse(entry.at), value: value() });
    used -= entry[unit];
    if (entry.limit !== null)
      limit = inWindow.slice(index + 1).find((older) => older.limit !== null)?.limit?.[unit] ?? limit;
  }
  const begin = Math.max(Date.parse(budget.windowStart), Date.parse(budget.createdAt));
  const oldest = points.at(-1)?.at ?? now;
  if (budget.window !== 'total' && begin < oldest) points.push({ at: begin, value: value() });
  const ordered = points.toReversed();
  return {
    times: ordered.map(({ at }) => at / 1_000),
    values: ordered.map((point) => point.value),
    forecast: isLimited && rate ? forecastOf(budget, rate, left, now, oldest) : [],
  };
}

/** From what is left now to nothing, or to the end of the window, or as far ahead as the chart goes back. */
function forecastOf(
  { windowEnd }: BudgetView,
  { perHour, runsOutAt }: UnitForecastView,
  left: number,
  now: number,
  oldest: number,
): BurnDown['forecast'] {
  if (perHour <= 0 || left <= 0) return [];
  const ahead = windowEnd === null ? now + Math.max(HOUR_MS, now - oldest) : Date.parse(windowEnd);
  const emptyAt = runsOutAt === null ? now + (left / perHour) * HOUR_MS : Date.parse(runsOutAt);
  const end =
    windowEnd === null && runsOutAt !== null ? Math.min(emptyAt, now + 2 * (ahead - now)) : Math.min(emptyAt, ahead);
  if (end <= now) return [];
  return [
    { at: now / 1_000, value: left },
    { at: end / 1_000, value: Math.max(0, left - (perHour * (end - now)) / HOUR_MS) },
  ];
}
