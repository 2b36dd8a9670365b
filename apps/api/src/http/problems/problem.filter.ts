import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bodyTooLarge, type RouteTable } from '../server/routes.js';
import { replyProblem, statusOf } from './problem.js';

/** Converts every error that Nest catches to an HTTP response. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly routes: RouteTable) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    replyProblem(http.getResponse<FastifyReply>(), this.refine(error, request));
  }

  /** Replaces general errors of Nest and Fastify by errors with details of this route. */
  private refine(error: unknown, request: FastifyRequest): unknown {
    if (statusOf(error) === 404) return this.routes.notFound(request.method, request.url);
    return statusOf(error) === 413 ? bodyTooLarge(request.routeOptions.bodyLimit) : error;
  }
}
