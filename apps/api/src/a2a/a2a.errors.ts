import {
  A2A_ERROR_CODE,
  A2AError,
  ContentTypeNotSupportedError,
  JsonRpcRequestMalformedError,
  RequestMalformedError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { FieldError } from '../http/problems/api.error.js';
import type { ErrorCode } from '../http/problems/problem.table.js';
import { type Problem, problemOf, toProblem } from '../http/problems/problem.js';

/** An error for which A2A has no code, such as 403 or 503. It keeps the status and the code of Rollcall. */
export class EdgeError extends A2AError {
  override readonly reason: string;

  constructor(
    readonly status: number,
    reason: string,
    message: string,
    metadata: Record<string, string>,
  ) {
    super({ message, metadata });
    this.reason = reason;
  }
}

type Details = { message: string; metadata: Record<string, string> };

const notFound = (): A2AError => new TaskNotFoundError('There is no such task, or it is not yours.');
const unsupported = (details: Details): A2AError => new UnsupportedOperationError(details);
const malformed = (details: Details): A2AError => new RequestMalformedError(details);

/**
 * The errors of Rollcall for which A2A has an error of its own. The specification requires that the task of another caller looks like
 * a task that does not exist.
 */
const KNOWN: Partial<Record<ErrorCode, (details: Details) => A2AError>> = {
  RUN_NOT_FOUND: notFound,
  RUN_FOREIGN: notFound,
  RUN_DELEGATED: notFound,
  RUN_FINISHED: unsupported,
  RUN_NOT_WAITING: unsupported,
  VALIDATION_FAILED: malformed,
  AGENT_REQUEST_REFUSED: malformed,
  EGRESS_DENIED: malformed,
  IDEMPOTENCY_KEY_REUSED: ({ metadata }) =>
    new RequestMalformedError({
      message: 'This messageId was already sent with another message. Use a new messageId.',
      metadata,
    }),
  RUN_DECISION_MISMATCH: malformed,
  RUN_TARGET_MISSING: malformed,
  UNKNOWN_STRATEGY: malformed,
  INVALID_QUERY: malformed,
  CURSOR_INVALID: malformed,
  UNSUPPORTED_MEDIA_TYPE: (details) => new ContentTypeNotSupportedError(details),
  MALFORMED_JSON: ({ message, metadata }) =>
    new JsonRpcRequestMalformedError({ message, metadata, envelopeCode: A2A_ERROR_CODE.PARSE_ERROR }),
};

/** Like `problemOf`, but errors of A2A, which are errors of the client, are not logged. */
export function a2aProblemOf(error: unknown, requestId: string): Problem {
  return error instanceof A2AError ? toProblem(error, requestId) : problemOf(error, requestId);
}

/** Converts any error to an error of A2A. The problem is the response of the REST API to the same error. */
export function toA2aError(error: unknown, { status, body }: Problem): A2AError {
  if (error instanceof A2AError) return error;
  const code = body['code'] as ErrorCode;
  const details = { message: messageOf(body), metadata: metadataOf(body) };
  return KNOWN[code]?.(details) ?? new EdgeError(status, code, details.message, details.metadata);
}

function messageOf({ detail, errors }: Record<string, unknown>): string {
  const faults = (errors ?? []) as FieldError[];
  return [String(detail), ...faults.map(({ message }) => `${message}.`)].join(' ');
}

function metadataOf({ code, requestId, retryAfterMs }: Record<string, unknown>): Record<string, string> {
  const known = { code, requestId, retryAfterMs };
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}
