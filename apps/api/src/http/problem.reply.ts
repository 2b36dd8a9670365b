import { Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Problem, toProblem } from './problem.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Writes the errors of a route in a format other than problem+json. */
    errorFormat?: ErrorFormat;
  }
}

export type ErrorFormat = (error: unknown, problem: Problem) => ErrorResponse;

export interface ErrorResponse {
  status: number;
  headers: Record<string, string>;
  body: object;
}

const log = new Logger('http');

/** Converts an error to a problem. Unexpected errors are logged in full, because the response has no details. */
export function problemOf(error: unknown, requestId: string): Problem {
  const problem = toProblem(error, requestId);
  if (problem.unexpected) logUnexpected(error, requestId);
  return problem;
}

function logUnexpected(error: unknown, requestId: string): void {
  log.error({ event: 'http.unexpected_error', requestId, err: error });
}

export function replyProblem(reply: FastifyReply, error: unknown): void {
  const { id, routeOptions } = reply.request;
  const problem = toProblem(error, id);
  const { status, headers, body } = routeOptions?.config?.errorFormat?.(error, problem) ?? problem;
  if (problem.unexpected && status >= 500) logUnexpected(error, id); // a format may classify the error as an error of the client
  if (reply.sent) return;
  // a new connection may reach another replica
  if (problem.body['code'] === 'DATABASE_UNAVAILABLE') void reply.header('connection', 'close');
  void reply.code(status).headers(headers).send(JSON.stringify(body));
}
