import type { JWTPayload } from 'jose';

/** OpenID Connect allows a subject 255 characters. */
const LONGEST = 255;
const CONTROL = /\p{Cc}/u;

/** The subject of a token; undefined when it is not a text that can be compared, stored and displayed. */
export function subjectOf({ sub }: JWTPayload): string | undefined {
  return isNameable(sub) ? sub : undefined;
}

/** What to call its holder: `name`, if it can be shown. */
export function nameOf({ name }: JWTPayload, subject: string): string {
  return isNameable(name) ? name : subject;
}

function isNameable(claim: unknown): claim is string {
  if (typeof claim !== 'string' || claim.length > LONGEST) return false;
  return claim.trim() !== '' && claim.isWellFormed() && !CONTROL.test(claim);
}
