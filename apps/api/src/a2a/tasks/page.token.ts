import { RequestMalformedError } from '@a2a-js/sdk/errors';
import type { ChangePosition } from '#rollcall/agent-runtime';

const FORMAT = /^tasks:(\d{1,17}):(\d{1,18})$/;

export function toPageToken({ at, seq }: ChangePosition): string {
  return Buffer.from(`tasks:${at}:${seq}`).toString('base64url');
}

/** A forged token only selects another position in the list of the caller. */
export function readPageToken(token: string): ChangePosition | undefined {
  if (token === '') return undefined;
  const [, at, seq] = FORMAT.exec(Buffer.from(token, 'base64url').toString('utf8')) ?? [];
  if (at !== undefined && seq !== undefined) return { at, seq };
  throw invalidPageToken();
}

export function invalidPageToken(): RequestMalformedError {
  return new RequestMalformedError('Send a nextPageToken of this list unchanged as pageToken, or leave pageToken out.');
}
