const MAX_DEPTH = 32;

/** Returns why a value cannot be stored as JSON in Postgres, or undefined if it can be stored. */
export function jsonProblem(value: unknown, depth = 0): string | undefined {
  if (typeof value === 'string') return textProblem(value);
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a number that is not finite';
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= MAX_DEPTH) return `more than ${MAX_DEPTH} levels`;
  for (const [key, item] of Object.entries(value)) {
    const problem = textProblem(key) ?? jsonProblem(item, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function textProblem(text: string): string | undefined {
  if (text.includes('\0')) return 'a NUL character';
  return text.isWellFormed() ? undefined : 'half of a Unicode surrogate pair';
}
