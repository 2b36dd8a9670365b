/** Longer than this is a mistake, or a wish to be left alone for good; timers could not even count that far. */
const LONGEST_MS = 86_400_000;

/** How long to wait, in milliseconds. A date is read against the answer's own, so that clocks need not agree. */
export function readRetryAfter(headers: Record<string, string | undefined>): number | undefined {
  const wait = exactly(headers['retry-after-ms']) ?? roughly(headers['retry-after'], headers['date']);
  return wait === undefined ? undefined : Math.min(wait, LONGEST_MS);
}

function exactly(text = ''): number | undefined {
  return NUMBER.test(text) ? Math.ceil(Number(text)) : undefined;
}

function roughly(text = '', date = ''): number | undefined {
  if (NUMBER.test(text)) return Math.ceil(Number(text) * 1_000);
  const wait = Date.parse(text) - Date.parse(date);
  return Number.isNaN(wait) ? undefined : Math.max(wait, 0);
}

const NUMBER = /^\s*\d+(\.\d+)?\s*$/;
