/** How many capability keys one agent may have: its capabilities and all their ancestors. */
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
 * Returns a capability and its ancestors: `code.build.rust`, `code.build`, `code`. A query for `code` finds agents that declare
 * `code.build`. A query for `code.build` does not find agents that declare only `code`, because they may not be able to build.
 */
export function withAncestors(capability: string): string[] {
  const all = [capability];
  for (let end = capability.lastIndexOf('.'); end > 0; end = capability.lastIndexOf('.', end - 1)) {
    all.push(capability.slice(0, end));
  }
  return all;
}

/** Whether a declared capability is the requested capability or one of its descendants. Both are in their normal form. */
export function matchesCapability(declared: string, requested: string): boolean {
  return declared === requested || declared.startsWith(`${requested}.`);
}

/** The keys by which Postgres finds these capabilities: their normal forms and all ancestors. Aliases are not resolved. */
export function capabilityKeys(capabilities: readonly string[]): string[] {
  const keys = new Set(capabilities.map(normaliseCapability).flatMap(withAncestors));
  keys.delete('');
  return [...keys].toSorted();
}

const MAX_LENGTH = 100;
/** The index contains an agent under every level of each of its capabilities. */
const MAX_LEVELS = 16;
/**
 * No dot, underscore or blank at the ends: the normal form would be different or empty. No comma: it separates capabilities in
 * CloudEvents and in the filters of events.
 */
const PATTERN = /^[^\s._,\p{Cc}](?:[^,\p{Cc}]*[^\s._,\p{Cc}])?$/u;

/**
 * Returns why an agent cannot declare this capability, or undefined if it can. Checks the length before the pattern, so that a long
 * text is rejected immediately.
 */
export function capabilityFault(capability: unknown): string | undefined {
  if (
    typeof capability !== 'string' ||
    capability.length < 1 ||
    capability.length > MAX_LENGTH ||
    !PATTERN.test(capability)
  )
    return `each capability must have 1 to ${MAX_LENGTH} characters, no comma or control character, and no dot, blank or underscore at its ends`;
  if (capability.split('.').length > MAX_LEVELS) return `each capability may have at most ${MAX_LEVELS} levels`;
  return undefined;
}
