import type { UnusableCursorError } from '#rollcall/platform';
import { toProblem } from '../http/problems/problem.js';

/** Why the server ends a stream, and where the consumer can resume. */
export interface StreamEnd {
  code: 'SLOW_CONSUMER' | 'CREDENTIAL_ENDED' | 'SHUTTING_DOWN' | 'DATABASE_UNAVAILABLE' | UnusableCursorError['code'];
  detail: string;
  /** The cursor to resume from. */
  after?: string;
  oldest?: string;
  head?: string;
  snapshot?: string;
}

/** The close code "try again later" of the IANA registry. */
export const TRY_AGAIN_LATER = 1013;

/** Close codes of WebSockets. Codes from 4000 are for applications, and their last three digits are the matching HTTP status. */
export const CLOSE_CODES: Record<StreamEnd['code'], number> = {
  SHUTTING_DOWN: 1001,
  DATABASE_UNAVAILABLE: TRY_AGAIN_LATER,
  CURSOR_AHEAD: 4400,
  CREDENTIAL_ENDED: 4401,
  SLOW_CONSUMER: 4408,
  CURSOR_EXPIRED: 4410,
  CURSOR_FOREIGN: 4410,
};

/** `resume` says how the client continues. Without a cursor, the client has no subscription to the event log. */
export function slowConsumer(resume: string, cursor?: string): StreamEnd {
  const detail = `The send buffer stayed full because you read too slowly. ${resume}, and read faster.`;
  return { code: 'SLOW_CONSUMER', detail, ...(cursor !== undefined && { after: cursor }) };
}

export function credentialEnded(cursor?: string): StreamEnd {
  const detail = 'The credential was revoked or has expired. Connect again with a valid credential';
  return resumable('CREDENTIAL_ENDED', detail, cursor);
}

export function shuttingDown(cursor?: string): StreamEnd {
  return resumable('SHUTTING_DOWN', 'This replica is shutting down. Connect again to reach another replica', cursor);
}

export function databaseUnavailable(cursor?: string): StreamEnd {
  const detail = 'This replica cannot reach its database. Connect again to reach another replica';
  return resumable('DATABASE_UNAVAILABLE', detail, cursor);
}

/** A connection without a subscription, such as the socket of an agent, has no cursor to resume from. */
function resumable(code: StreamEnd['code'], advice: string, cursor: string | undefined): StreamEnd {
  if (cursor === undefined) return { code, detail: `${advice}.` };
  return { code, after: cursor, detail: `${advice}, and resume with \`after\`.` };
}

export function unusableCursor(error: UnusableCursorError): StreamEnd {
  const { oldest, head, snapshot } = toProblem(error, '').body as Record<string, string | undefined>;
  return {
    code: error.code,
    detail: error.message,
    ...(oldest !== undefined && { oldest }),
    ...(head !== undefined && { head }),
    snapshot,
  };
}
