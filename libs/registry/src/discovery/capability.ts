/** How many capability keys one agent may have: its claims and all their ancestors. */
export const MAX_CAPABILITY_KEYS = 256;

/** Matches most capabilities that are in their normal form already. */
const NORMAL = /^[a-z\d-]+(?:\.[a-z\d-]+)*$/;

/** Returns the normal form: `Code.Build` and `code . build` become `code.build`; `can code` and `can_code` become `can-code`. */
export function normaliseCapability(text: string): string {
  if (NORMAL.test(text)) return text;
  return text
    .toLowerCase()
    .split('.')
    .map((level) => level.trim().replace(/[\s_]+/g, '-'))
    .filter((level) => level !== '')
    .join('.');
}

/**
 * Returns a capability and its ancestors: `code.build.rust`, `code.build`, `code`. A query for `code` finds agents that claim
 * `code.build`. A query for `code.build` does not find agents that claim only `code`, because they may not be able to build.
 */
export function withAncestors(capability: string): string[] {
  const all = [capability];
  for (let end = capability.lastIndexOf('.'); end > 0; end = capability.lastIndexOf('.', end - 1)) {
    all.push(capability.slice(0, end));
  }
  return all;
}

/** Whether a claim is the requested capability or one of its descendants. Both are in their normal form. */
export function matchesCapability(claim: string, requested: string): boolean {
  return claim === requested || claim.startsWith(`${requested}.`);
}

/** The keys by which Postgres finds these claims: their normal forms and all ancestors. Aliases are not resolved. */
export function capabilityKeys(claims: readonly string[]): string[] {
  const keys = new Set(claims.map(normaliseCapability).flatMap(withAncestors));
  keys.delete('');
  return [...keys].toSorted();
}
