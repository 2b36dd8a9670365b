import { HttpException, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { RuntimeError } from '#rollcall/agent-runtime';
import {
  CursorAheadError,
  CursorExpiredError,
  CursorForeignError,
  type DomainError,
  PlatformError,
} from '#rollcall/platform';
import { ProviderError } from '#rollcall/providers';
import { RegisterAgainError, RegistryError } from '#rollcall/registry';
import { ApiError, type ApiErrorCode, type ApiErrorExtras } from './api.error.js';
import { type ErrorCode, PROBLEMS } from './problem.table.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Writes the errors of a route in a format other than problem+json. */
    errorFormat?: ErrorFormat;
  }
}

export type ErrorFormat = (error: unknown, problem: Problem) => ErrorResponse;

interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: object;
}

export interface Problem {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
  /** The error has no known code. Log it in full, because the response has no details. */
  unexpected: boolean;
}

export const PROBLEM_CONTENT_TYPE = 'application/problem+json; charset=utf-8';

const log = new Logger('http');

/** Converts any thrown value to a response as defined in RFC 9457. */
export function toProblem(error: unknown, requestId: string): Problem {
  const known = recognise(error);
  if (known) return render(known.code, known.message, known.extras, requestId);
  const message = 'The error was logged with this request id. Include it when you report the problem to the operator.';
  return { ...render('INTERNAL', message, {}, requestId), unexpected: true };
}

/** Converts an error to a problem. Unexpected errors are logged in full, because the response has no details. */
export function problemOf(error: unknown, requestId: string): Problem {
  const problem = toProblem(error, requestId);
  if (problem.unexpected) logUnexpected(error, requestId);
  logDetailOf(error, requestId);
  return problem;
}

export function replyProblem(reply: FastifyReply, error: unknown): void {
  const { id, routeOptions } = reply.request;
  const problem = toProblem(error, id);
  const { status, headers, body } = routeOptions?.config?.errorFormat?.(error, problem) ?? problem;
  if (problem.unexpected && status >= 500) logUnexpected(error, id); // a format may classify the error as an error of the client
  logDetailOf(error, id);
  if (reply.sent) return;
  // a new connection may reach another replica
  if (problem.body['code'] === 'DATABASE_UNAVAILABLE') void reply.header('connection', 'close');
  void reply.code(status).headers(headers).send(JSON.stringify(body));
}

function logUnexpected(error: unknown, requestId: string): void {
  log.error({ event: 'http.unexpected_error', requestId, err: error });
}

/** The response contains only the message; the log also contains what the operator needs to find the cause (S-16). */
function logDetailOf(error: unknown, requestId: string): void {
  if (!(error instanceof ProviderError) || !error.logDetail) return;
  const { code, message, logDetail: detail } = error;
  log.warn({ event: 'http.provider_error', requestId, code, message, detail });
}

function recognise(error: unknown): { code: ErrorCode; message: string; extras: ApiErrorExtras } | undefined {
  if (error instanceof ApiError) return error;
  if (error instanceof ProviderError) {
    return { code: error.code, message: error.message, extras: { retryAfterMs: error.retryAfterMs } };
  }
  if (error instanceof RegistryError || error instanceof PlatformError || error instanceof RuntimeError) {
    const { code, message, retryAfterMs } = error;
    return { code, message, extras: { retryAfterMs, details: detailsOf(error) } };
  }
  if (isAborted(error)) return { code: 'REQUEST_INCOMPLETE', message: 'The client closed the connection.', extras: {} };
  const status = statusOf(error);
  const code = status === undefined ? undefined : frameworkCode(status);
  return code && { code, message: FRAMEWORK_DETAILS[code] ?? (error as Error).message, extras: {} };
}

/** A consumer that cannot continue from its cursor reads this path. */
const SNAPSHOT = '/v1/events/snapshot';

function detailsOf(error: DomainError): Record<string, unknown> | undefined {
  if (error instanceof CursorExpiredError) return { oldest: String(error.oldest), snapshot: SNAPSHOT };
  if (error instanceof CursorAheadError) return { head: String(error.head), snapshot: SNAPSHOT };
  if (error instanceof CursorForeignError) return { head: String(error.head), snapshot: SNAPSHOT };
  if (error instanceof RegisterAgainError && error.reason) return { reason: error.reason };
  return error.details;
}

/** Errors that Nest and Fastify throw before a handler is called. */
const FRAMEWORK_CODES: Partial<Record<number, ApiErrorCode>> = {
  400: 'MALFORMED_REQUEST',
  404: 'ROUTE_NOT_FOUND',
  408: 'REQUEST_TIMEOUT',
  413: 'BODY_TOO_LARGE',
  414: 'MALFORMED_REQUEST',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  431: 'HEADERS_TOO_LARGE',
  503: 'TIMED_OUT',
};

/** Replaces messages of the framework that do not say what to do. */
const FRAMEWORK_DETAILS: Partial<Record<ApiErrorCode, string>> = {
  UNSUPPORTED_MEDIA_TYPE: 'Send the body as JSON, with the header Content-Type: application/json.',
};

/** Any other 4xx of the framework, such as 412 and 416 for a file, is also an error of the client. */
function frameworkCode(status: number): ApiErrorCode | undefined {
  return FRAMEWORK_CODES[status] ?? (status >= 400 && status < 500 ? 'MALFORMED_REQUEST' : undefined);
}

/** Whether the client closed the connection before its request had arrived. Then nobody reads the response. */
function isAborted(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return code === 'ECONNRESET' || message === 'aborted';
}

/** The HTTP status of an error that Nest or Fastify created. */
export function statusOf(error: unknown): number | undefined {
  if (error instanceof HttpException) return error.getStatus();
  if (error instanceof Error && error.name === 'FastifyError')
    return (error as Error & { statusCode?: number }).statusCode;
  return undefined;
}

function render(code: ErrorCode, detail: string, extras: ApiErrorExtras, requestId: string): Problem {
  const { status, title } = PROBLEMS[code];
  const { errors, retryAfterMs, details, headers } = extras;
  return {
    status,
    headers: { 'content-type': PROBLEM_CONTENT_TYPE, ...retryAfter(retryAfterMs), ...headers },
    body: {
      type: `urn:rollcall:problem:${code.toLowerCase().replaceAll('_', '-')}`,
      title,
      status,
      detail,
      code,
      requestId,
      ...(errors && { errors }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...details,
    },
    unexpected: false,
  };
}

/** The header has whole seconds; the exact time is in the body. */
function retryAfter(milliseconds: number | undefined): Record<string, string> {
  return milliseconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(milliseconds / 1_000))) };
}
