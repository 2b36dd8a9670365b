/** The time in milliseconds as text, such as 2026-02-24T10:00:00.000Z. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
