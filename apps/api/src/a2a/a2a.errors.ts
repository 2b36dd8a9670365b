import { A2A_CONTENT_TYPE } from '@a2a-js/sdk';
import {
  A2A_ERROR_CODE,
  A2AError,
  type A2AErrorInfo,
  ContentTypeNotSupportedError,
  JsonRpcRequestMalformedError,
  RequestMalformedError,
  restStatusFor,
  TaskNotFoundError,
  toJsonRpcError,
  toRestErrorBody,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors';
import type { FieldError } from '../http/problems/api.error.js';
import { type ErrorFormat, type Problem, problemOf, toProblem } from '../http/problems/problem.js';
import type { ErrorCode } from '../http/problems/problem.table.js';

/** The code of JSON-RPC for errors that the server itself defines. */
const SERVER_ERROR = -32_000;
const STATUS_NAMES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'OUT_OF_RANGE',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
};

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
export function a2aErrorOf(error: unknown, { status, body }: Problem): A2AError {
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

interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: readonly object[];
}

/** The `error` of a JSON-RPC response. */
export function rpcErrorOf(error: A2AError): RpcError {
  if (!(error instanceof EdgeError)) return toJsonRpcError(error);
  const code = error.status >= 500 ? A2A_ERROR_CODE.INTERNAL_ERROR : SERVER_ERROR;
  return { code, message: error.message, data: [infoOf(error)] };
}

/** The status and the body of an error response of HTTP+JSON. */
export function restErrorOf(error: A2AError): { status: number; body: object } {
  if (!(error instanceof EdgeError)) {
    const status = restStatusFor(error);
    return { status, body: toRestErrorBody(error, status) };
  }
  const { status: code, message } = error;
  const status = STATUS_NAMES[code] ?? (code >= 500 ? 'INTERNAL' : 'FAILED_PRECONDITION');
  return { status: code, body: { error: { code, status, message, details: [infoOf(error)] } } };
}

/** In JSON-RPC, errors of A2A have status 200. Errors for which A2A has no code, such as 401, keep their HTTP status. */
export const rpcErrors: ErrorFormat = (error, problem) => {
  const known = a2aErrorOf(error, problem);
  return {
    status: known instanceof EdgeError ? known.status : 200,
    headers: { ...headersOf(problem), 'content-type': 'application/json; charset=utf-8' },
    body: { jsonrpc: '2.0', id: null, error: rpcErrorOf(known) },
  };
};

export const restErrors: ErrorFormat = (error, problem) => ({
  ...restErrorOf(a2aErrorOf(error, problem)),
  headers: { ...headersOf(problem), 'content-type': A2A_CONTENT_TYPE },
});

function headersOf({ headers }: Problem): Record<string, string> {
  const { 'content-type': _, ...others } = headers;
  return others;
}

function infoOf(error: EdgeError): Omit<A2AErrorInfo, 'domain'> & { domain: string } {
  return { ...error.toErrorInfo(), domain: 'rollcall' };
}
