/**
 * Removes null values, empty texts, empty lists and empty objects at all levels. The specification leaves them out of the signed
 * content, so a card without them has the same content for every verifier.
 */
export function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return nonEmpty(value.map(withoutEmpty).filter((one) => one !== undefined));
  if (typeof value !== 'object' || value === null) return value === null || value === '' ? undefined : value;
  const entries = Object.entries(value).map(([name, inner]) => [name, withoutEmpty(inner)] as const);
  return nonEmpty(Object.fromEntries(entries.filter(([, inner]) => inner !== undefined)));
}

/** Canonical JSON (RFC 8785): the keys are sorted. JSON.stringify already writes numbers and texts as the RFC requires. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(',')}}`;
}

function nonEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}
