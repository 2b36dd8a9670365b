/** The period after which a budget starts again with nothing used. A `total` budget never starts again. */
export const BUDGET_WINDOWS = ['total', 'daily', 'monthly'] as const;
export type BudgetWindow = (typeof BUDGET_WINDOWS)[number];

export interface WindowSpan {
  start: number;
  /** When the next window begins; null means never. */
  end: number | null;
}

interface CivilDate {
  year: number;
  /** 0 is January; 12 is January of the next year, as in `Date.UTC`. */
  month: number;
  day: number;
}

const DAY_MS = 86_400_000;
const FORMATS = new Map<string, Intl.DateTimeFormat>();

/** Whether the runtime knows this time zone. */
export function isTimeZone(timeZone: string): boolean {
  try {
    formatOf(timeZone);
    return true;
  } catch {
    return false; // Intl has no other test for a time zone
  }
}

/**
 * The window that contains `now`. A daily or monthly window begins and ends at midnight in the time zone, even when daylight saving
 * time changes. A total window begins at `now` and never ends.
 */
export function nextWindow(window: BudgetWindow, now: number, timeZone: string): WindowSpan {
  if (window === 'total') return { start: now, end: null };
  const { year, month, day } = civilDate(now, timeZone);
  const first = window === 'daily' ? { year, month, day } : { year, month, day: 1 };
  const next = window === 'daily' ? { year, month, day: day + 1 } : { year, month: month + 1, day: 1 };
  return { start: midnight(first, timeZone), end: midnight(next, timeZone) };
}

function civilDate(at: number, timeZone: string): CivilDate {
  const local = new Date(at + offsetMs(at, timeZone));
  return { year: local.getUTCFullYear(), month: local.getUTCMonth(), day: local.getUTCDate() };
}

/** The start of a day. If the day has two midnights, it is the first; if it has none, it is the time of the clock change. */
function midnight({ year, month, day }: CivilDate, timeZone: string): number {
  const local = Date.UTC(year, month, day);
  const offsets = [offsetMs(local - DAY_MS, timeZone), offsetMs(local + DAY_MS, timeZone)];
  const [early, late] = [local - Math.max(...offsets), local - Math.min(...offsets)];
  const shown = (at: number): number => at + offsetMs(at, timeZone);
  return [early, late].find((at) => shown(at) === local) ?? firstBetween(early, late, (at) => shown(at) >= local);
}

/** Binary search: the first time for which `passes` is true. `passes` must be true for all later times. */
function firstBetween(from: number, to: number, passes: (at: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The difference between local time and UTC at that time. */
function offsetMs(at: number, timeZone: string): number {
  if (timeZone === 'UTC') return 0;
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  const local = Date.UTC(year, month - 1, day, hour, minute, second);
  return local - Math.floor(at / 1_000) * 1_000;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = FORMATS.get(timeZone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  FORMATS.set(timeZone, format);
  return format;
}
