import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from './api.error.js';
import { replyProblem } from './problem.reply.js';
import type { RouteTable } from './route.table.js';

/** The one place where an error becomes an HTTP answer. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly routes: RouteTable) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    replyProblem(http.getResponse<FastifyReply>(), this.refine(error, request));
  }

  /** Nest says 404 for a known path with another method; HTTP has a better answer. */
  private refine(error: unknown, request: FastifyRequest): unknown {
    if (!(error instanceof HttpException) || error.getStatus() !== 404) return error;
    const path = request.url.split('?', 1)[0] ?? '';
    const allowed = this.routes.methodsOf(path);
    if (allowed.length === 0) {
      return new ApiError('ROUTE_NOT_FOUND', `Nothing is served at ${request.method} ${path}. See /docs for what is.`);
    }
    const allow = allowed.join(', ');
    return new ApiError('METHOD_NOT_ALLOWED', `${path} takes ${allow}, not ${request.method}.`, { headers: { allow } });
  }
}
