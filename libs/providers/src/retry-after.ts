/** How long to wait, in milliseconds. A date is read against the answer's own, so that clocks need not agree. */
export function readRetryAfter(headers: Record<string, string | undefined>): number | undefined {
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (exact >= 0) return exact;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const wait = Date.parse(text) - Date.parse(headers['date'] ?? '');
  return wait >= 0 ? wait : undefined;
}
