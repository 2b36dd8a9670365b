import { Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { toProblem } from './problem.js';

const log = new Logger('http');

/** Answers a request with what went wrong. What nobody foresaw is logged whole. */
export function replyProblem(reply: FastifyReply, error: unknown): void {
  const problem = toProblem(error, reply.request.id);
  if (problem.unexpected) log.error({ event: 'http.unexpected_error', err: error });
  if (reply.sent) return;
  void reply.code(problem.status).headers(problem.headers).send(JSON.stringify(problem.body));
}
