import { available, type Budget, MAX_COUNT, type Unit, UNITS } from './budget.js';

/** The amounts charged in the recent past, and the length of that period. */
export interface Burn {
  tokens: number;
  microUsd: number;
  overMs: number;
}

export interface UnitForecast {
  perHour: number;
  available: number | null;
  /** When the budget runs out at this rate; null if it is unlimited, or lasts until the end of its window or of the year 9999. */
  runsOutAt: number | null;
}

export type Forecast = Record<Unit, UnitForecast> & {
  /** The length of the period that the rate is based on. A short period gives an unreliable rate. */
  overMs: number;
  /** When the first of the two units runs out. */
  runsOutAt: number | null;
};

const HOUR_MS = 3_600_000;
/** A shorter period counts as this long: the first call of a budget says nothing about the calls of an hour. */
const SHORTEST_PERIOD_MS = 5 * 60_000;

export function forecast(budget: Budget, burn: Burn, now: number): Forecast {
  const left = available(budget);
  const of = (unit: Unit): UnitForecast => {
    const perMs = burn[unit] / Math.max(burn.overMs, SHORTEST_PERIOD_MS);
    return {
      perHour: Math.min(MAX_COUNT, Math.round(perMs * HOUR_MS)),
      available: left[unit],
      runsOutAt: runsOutAt(left[unit], perMs, budget.windowEnd, now),
    };
  };
  const units = { tokens: of('tokens'), microUsd: of('microUsd') };
  const ends = UNITS.map((unit) => units[unit].runsOutAt).filter((at) => at !== null);
  return { ...units, overMs: burn.overMs, runsOutAt: ends.length === 0 ? null : Math.min(...ends) };
}

function runsOutAt(left: number | null, perMs: number, windowEnd: number | null, now: number): number | null {
  if (left === null) return null;
  if (left === 0) return now;
  const at = now + left / perMs;
  if (!Number.isFinite(at) || at > LATEST_DATE || (windowEnd !== null && at >= windowEnd)) return null;
  return Math.floor(at);
}

/** The end of the year 9999: RFC 3339 has no later times. */
const LATEST_DATE = Date.UTC(10_000, 0) - 1;
