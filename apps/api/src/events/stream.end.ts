import type { UnusableCursorError } from '#rollcall/platform';
import { toProblem } from '../http/problem.js';

/** Why we end a stream, and where the consumer goes on from. */
export interface StreamEnd {
  code: 'SLOW_CONSUMER' | 'CREDENTIAL_ENDED' | 'SHUTTING_DOWN' | 'DATABASE_UNAVAILABLE' | UnusableCursorError['code'];
  detail: string;
  /** Resume after this one. */
  after?: string;
  oldest?: string;
  head?: string;
  snapshot?: string;
}

/** RFC 6455's "try again later". */
export const TRY_AGAIN_LATER = 1013;

/** What a WebSocket is closed with. The 4000s are for applications; ours follow HTTP's numbers. */
export const CLOSE_CODES: Record<StreamEnd['code'], number> = {
  SHUTTING_DOWN: 1001,
  DATABASE_UNAVAILABLE: TRY_AGAIN_LATER,
  CURSOR_AHEAD: 4400,
  CREDENTIAL_ENDED: 4401,
  SLOW_CONSUMER: 4408,
  CURSOR_EXPIRED: 4410,
  CURSOR_FOREIGN: 4410,
};

export function slowConsumer(cursor: string): StreamEnd {
  const detail = 'You did not read for so long that your buffer stayed full. Resume with `after`, and read faster.';
  return { code: 'SLOW_CONSUMER', after: cursor, detail };
}

export function credentialEnded(cursor?: string): StreamEnd {
  const detail = 'The credential was revoked or has expired. Resume with `after` and a valid one.';
  return { code: 'CREDENTIAL_ENDED', ...(cursor !== undefined && { after: cursor }), detail };
}

export function shuttingDown(cursor?: string): StreamEnd {
  const detail = 'This replica is leaving. Resume with `after`; another one will answer.';
  return { code: 'SHUTTING_DOWN', ...(cursor !== undefined && { after: cursor }), detail };
}

export function databaseUnavailable(cursor?: string): StreamEnd {
  const detail =
    'This replica does not reach its database. Connect again and resume with `after`; another one may answer.';
  return { code: 'DATABASE_UNAVAILABLE', ...(cursor !== undefined && { after: cursor }), detail };
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
