const MAX_CLAIM_LENGTH = 100;
/** The index contains an agent under every level of each of its capabilities. */
const MAX_LEVELS = 16;
/**
 * No dot, underscore or blank at the ends: the normal form would be different or empty. No comma: it separates capabilities in
 * CloudEvents and in the filters of events.
 */
const CLAIM = /^[^\s._,\p{Cc}](?:[^,\p{Cc}]*[^\s._,\p{Cc}])?$/u;

/**
 * Returns why an agent cannot claim this capability, or undefined if it can. Checks the length before the pattern, so that a long
 * text is rejected immediately.
 */
export function claimFault(claim: unknown): string | undefined {
  if (typeof claim !== 'string' || claim.length < 1 || claim.length > MAX_CLAIM_LENGTH || !CLAIM.test(claim))
    return `each capability must have 1 to ${MAX_CLAIM_LENGTH} characters, no comma or control character, and no dot, blank or underscore at its ends`;
  if (claim.split('.').length > MAX_LEVELS) return `each capability may have at most ${MAX_LEVELS} levels`;
  return undefined;
}
