import type { FieldError } from '../http/problems/api.error.js';
import type { ErrorFormat, Problem } from '../http/problems/problem.js';
import type { ErrorCode } from '../http/problems/problem.table.js';

/** The JSON-RPC codes of errors for which MCP defines no code. */
const SERVER_ERROR = -32_000;
const INTERNAL_ERROR = -32_603;
const CODES: Partial<Record<ErrorCode, number>> = { MALFORMED_JSON: -32_700, VALIDATION_FAILED: -32_602 };

/** The facts of an error that programs need. */
export interface ErrorFacts {
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  readonly errors?: readonly FieldError[];
  readonly retryAfterMs?: number;
}

export function errorFacts({ body }: Problem): ErrorFacts {
  const { code, detail, requestId, errors, retryAfterMs } = body as unknown as ErrorFacts;
  return { code, detail, requestId, ...(errors && { errors }), ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Explains an error, with the message of each field error. */
export function explanationOf({ detail, errors = [] }: ErrorFacts): string {
  return [detail, ...errors.map(({ message }) => `${message}.`)].join(' ');
}

/** Formats errors that occur before the SDK handles the request, such as 401, as JSON-RPC. The HTTP status does not change. */
export const mcpErrors: ErrorFormat = (_error, problem) => {
  const { status, headers } = problem;
  const facts = errorFacts(problem);
  const code = CODES[facts.code as ErrorCode] ?? (status >= 500 ? INTERNAL_ERROR : SERVER_ERROR);
  return {
    status,
    headers: { ...headers, 'content-type': 'application/json; charset=utf-8' },
    body: { jsonrpc: '2.0', id: null, error: { code, message: explanationOf(facts), data: facts } },
  };
};
