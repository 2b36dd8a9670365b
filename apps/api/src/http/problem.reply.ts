import { Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Problem, toProblem } from './problem.js';

const log = new Logger('http');

/** Converts an error to a problem. Unexpected errors are logged in full, because the response has no details. */
export function problemOf(error: unknown, requestId: string): Problem {
  const problem = toProblem(error, requestId);
  if (problem.unexpected) log.error({ event: 'http.unexpected_error', requestId, err: error });
  return problem;
}

export function replyProblem(reply: FastifyReply, error: unknown): void {
  const { status, headers, body } = problemOf(error, reply.request.id);
  if (reply.sent) return;
  if (body['code'] === 'DATABASE_UNAVAILABLE') void reply.header('connection', 'close'); // a new connection may reach another replica
  void reply.code(status).headers(headers).send(JSON.stringify(body));
}
