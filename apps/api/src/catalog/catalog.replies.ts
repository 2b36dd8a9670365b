import { JSON_TYPE } from '../http/body/json-body.parser.js';
import type { ErrorFormat, Problem } from '../http/problems/problem.js';

/** Health and load change all the time, so caches may keep a copy only for a few seconds. Any web page may read the documents. */
export const CATALOG_HEADERS = { 'cache-control': 'public, max-age=5', 'access-control-allow-origin': '*' };

const CODES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  429: 'RATE_LIMIT_EXCEEDED',
};

/** The error envelope of ARD. */
export const ardErrors: ErrorFormat = (_error, problem) => {
  const { status } = problem;
  const errorCode = CODES[status] ?? (status >= 500 ? 'INTERNAL_ERROR' : 'INVALID_ARGUMENT');
  return { status, headers: headersOf(problem), body: { errorCode, message: messageOf(problem) } };
};

/** The error envelope of the MCP registry. */
export const serverErrors: ErrorFormat = (_error, problem) => ({
  status: problem.status,
  headers: { ...headersOf(problem), 'access-control-allow-origin': '*' },
  body: { error: messageOf(problem) },
});

function headersOf({ headers }: Problem): Record<string, string> {
  return { ...headers, 'content-type': JSON_TYPE };
}

function messageOf({ body }: Problem): string {
  const { detail, title } = body;
  return typeof detail === 'string' && detail !== '' ? detail : String(title);
}
