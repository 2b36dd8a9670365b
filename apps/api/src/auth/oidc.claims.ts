import type { JWTPayload } from 'jose';

/** OpenID Connect limits a subject to 255 characters. */
const MAX_LENGTH = 255;
const CONTROL = /\p{Cc}/u;

/** The subject of a token; undefined when it is not a text that can be compared, stored and displayed. */
export function subjectOf({ sub }: JWTPayload): string | undefined {
  return isDisplayable(sub) ? sub : undefined;
}

/** The display name: the claim `name` if it can be displayed, else the subject. */
export function nameOf({ name }: JWTPayload, subject: string): string {
  return isDisplayable(name) ? name : subject;
}

function isDisplayable(claim: unknown): claim is string {
  if (typeof claim !== 'string' || claim.length > MAX_LENGTH) return false;
  return claim.trim() !== '' && claim.isWellFormed() && !CONTROL.test(claim);
}
