import { available, type Budget, type Unit, UNITS } from './budget.js';

/** What was charged lately, and over how long. */
export interface Burn {
  tokens: number;
  microUsd: number;
  overMs: number;
}

export interface UnitForecast {
  perHour: number;
  available: number | null;
  /** When it runs out at this rate: null when it does not, or when its window ends before. */
  runsOutAt: number | null;
}

export type Forecast = Record<Unit, UnitForecast> & {
  /** How long the look back is. A rate over a short time says little. */
  overMs: number;
  /** The first of the two to run out. */
  runsOutAt: number | null;
};

const HOUR_MS = 3_600_000;

export function forecast(budget: Budget, burn: Burn, now: number): Forecast {
  const left = available(budget);
  const of = (unit: Unit): UnitForecast => {
    const perMs = burn.overMs > 0 ? burn[unit] / burn.overMs : 0;
    return {
      perHour: Math.round(perMs * HOUR_MS),
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
  if (!Number.isFinite(at) || at > FARTHEST || (windowEnd !== null && at >= windowEnd)) return null;
  return Math.floor(at);
}

/** The last moment a Date can be. */
const FARTHEST = 8.64e15;
