import type { FastifyReply } from 'fastify';
import { JSON_TYPE } from '../http/body/json-body.parser.js';
import { etagOf } from '../http/etag.js';
import type { ErrorFormat, Problem } from '../http/problems/problem.js';

/** Health and load change all the time, so caches may keep a copy only for a few seconds. */
const CACHE = 'public, max-age=5';

interface Document {
  readonly body: object;
  /** The value that the `ETag` is computed from, if it is not the body: a signature differs each time. */
  readonly tagged?: object;
  readonly type?: string;
}

/** Sends a public document. Any web page may read it. A client that already has this version gets 304. */
export function sendDocument(reply: FastifyReply, { body, tagged = body, type = JSON_TYPE }: Document): void {
  const etag = etagOf(JSON.stringify(tagged));
  void reply.headers({ 'cache-control': CACHE, 'access-control-allow-origin': '*', etag });
  if (reply.request.headers['if-none-match'] === etag) return void reply.code(304).send();
  void reply.type(type).send(JSON.stringify(body));
}

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
