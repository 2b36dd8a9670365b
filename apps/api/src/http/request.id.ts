import { randomBytes } from 'node:crypto';

const ACCEPTABLE_ID = /^[\w.:-]{1,128}$/;
/** As unique as a UUID, for a fraction of the time: this process, and a number. */
const PROCESS_ID = randomBytes(9).toString('base64url');
let requests = 0;

export function newRequestId(): string {
  return `${PROCESS_ID}-${(requests += 1).toString(36)}`;
}

/** The caller's, if it has one. */
export function requestIdOf(request: { headers: Record<string, string | string[] | undefined> }): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && ACCEPTABLE_ID.test(given) ? given : newRequestId();
}
