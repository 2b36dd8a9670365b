import type { FieldErrorView, Problem } from './generated/schema.js';

/** Errors of the client itself, in addition to the codes of the API. */
type ClientErrorCode =
  /** No response: the server is away, or the connection was lost. */
  | 'SERVER_UNREACHABLE'
  /** The call took longer than `timeoutMs`. */
  | 'CALL_TIMED_OUT'
  /** The response is not from Rollcall, for example because a proxy answered. */
  | 'RESPONSE_UNREADABLE'
  /** The server has ended a stream. A new connection continues it. */
  | 'STREAM_ENDED';

/** The stable code of an error. A newer server may have codes that this client does not list. */
export type RollcallErrorCode = Problem['code'] | ClientErrorCode | (string & {});

interface ErrorFacts {
  status?: number | undefined;
  problem?: Partial<Problem> | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** Every failure of a call: a rejection by the API, or a server that cannot be reached. */
export class RollcallError extends Error {
  override readonly name = 'RollcallError';
  /** The status of the response. Undefined if there was no response. */
  readonly status: number | undefined;
  /** The fields to correct, for `VALIDATION_FAILED`. */
  readonly fieldErrors: readonly FieldErrorView[];
  /** A repetition can succeed after this time. */
  readonly retryAfterMs: number | undefined;
  /** Include the request id when you report the problem. */
  readonly requestId: string | undefined;
  /** The whole body of the error response, such as `budget` of `BUDGET_EXHAUSTED`. */
  readonly problem: Partial<Problem> | undefined;

  constructor(
    readonly code: RollcallErrorCode,
    message: string,
    { status, problem, retryAfterMs, cause }: ErrorFacts = {},
  ) {
    super(`${code}: ${message}`, cause === undefined ? undefined : { cause });
    this.status = status;
    this.problem = problem;
    this.fieldErrors = problem?.errors ?? [];
    this.retryAfterMs = problem?.retryAfterMs ?? retryAfterMs;
    this.requestId = problem?.requestId;
  }
}

/** Reads the error of a response. A response without a problem document comes from a proxy or from another server. */
export async function readError(response: Response): Promise<RollcallError> {
  const { status } = response;
  const text = await response.text();
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
  const problem = parseProblem(text);
  if (problem?.code !== undefined) {
    const message = problem.detail ?? problem.title ?? `status ${status}`;
    return new RollcallError(problem.code, message, { status, problem, retryAfterMs });
  }
  const message = `The response has status ${status} and is not from Rollcall: ${text.slice(0, 200)}`;
  return new RollcallError('RESPONSE_UNREADABLE', message, { status, retryAfterMs });
}

function parseProblem(text: string): Partial<Problem> | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined; // not JSON
  }
}

/** Rollcall sends seconds; a proxy may send a date. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** No response, or a proxy that reports that it has no response. */
export function isLostConnection({ code, status }: RollcallError): boolean {
  return code === 'SERVER_UNREACHABLE' || (code === 'RESPONSE_UNREADABLE' && (status === 502 || status === 504));
}

/** A repetition of the request may succeed. */
export function isTransient(error: RollcallError): boolean {
  const { code, status = 0 } = error;
  const isInProgress = code === 'CALL_TIMED_OUT' || code === 'IDEMPOTENCY_IN_PROGRESS';
  return isInProgress || isLostConnection(error) || status === 429 || status >= 500;
}
