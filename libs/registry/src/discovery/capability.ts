/** How many entries of the hierarchy one agent may have: its claims and all that contain them. */
export const MAX_CAPABILITY_KEYS = 256;

/** `Code.Build`, ` code.build ` and `code . build` are one capability; `can code` and `can_code` are `can-code`. */
export function normaliseCapability(text: string): string {
  return text
    .toLowerCase()
    .split('.')
    .map((level) => level.trim().replace(/[\s_]+/g, '-'))
    .filter((level) => level !== '')
    .join('.');
}

/**
 * A capability and all that contain it, itself first: `code.build.rust`, `code.build`, `code`. Who claims the narrow one can
 * do some of the wide one, so asking for `code` finds who claims `code.build`. Not the other way round: who claims only
 * `code` never said that building is part of it.
 */
export function withAncestors(capability: string): string[] {
  const all = [capability];
  for (let end = capability.lastIndexOf('.'); end > 0; end = capability.lastIndexOf('.', end - 1)) {
    all.push(capability.slice(0, end));
  }
  return all;
}

/** Whether a claim answers what was asked for; both normalised. */
export function matchesCapability(claim: string, asked: string): boolean {
  return claim === asked || claim.startsWith(`${asked}.`);
}

/** Every word these claims may be found by, in Postgres: normal forms and all that contain them, before any alias. */
export function capabilityKeys(claims: readonly string[]): string[] {
  const keys = new Set(claims.map(normaliseCapability).flatMap(withAncestors));
  keys.delete('');
  return [...keys].toSorted();
}
