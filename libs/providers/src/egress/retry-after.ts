/** The maximum that is returned. A longer value is probably a mistake, and timers are limited. */
const MAX_MS = 86_400_000;

/**
 * Returns how long to wait, in milliseconds. A date is compared with the `date` header, so that the clocks of both sides may
 * differ.
 */
export function readRetryAfter(headers: Record<string, string | undefined>): number | undefined {
  const wait = milliseconds(headers['retry-after-ms']) ?? secondsOrDate(headers['retry-after'], headers['date']);
  return wait === undefined ? undefined : Math.min(wait, MAX_MS);
}

function milliseconds(text = ''): number | undefined {
  return NUMBER.test(text) ? Math.ceil(Number(text)) : undefined;
}

function secondsOrDate(text = '', date = ''): number | undefined {
  if (NUMBER.test(text)) return Math.ceil(Number(text) * 1_000);
  const wait = Date.parse(text) - Date.parse(date);
  return Number.isNaN(wait) ? undefined : Math.max(wait, 0);
}

const NUMBER = /^\s*\d+(\.\d+)?\s*$/;
