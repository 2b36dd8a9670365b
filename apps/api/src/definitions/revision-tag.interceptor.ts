import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { type Observable, tap } from 'rxjs';
import type { Definition } from '#rollcall/agent-runtime';

/** Sends the revision of a definition as the header `ETag`, for `If-Match`. */
@Injectable()
export class RevisionTagInterceptor implements NestInterceptor<Definition> {
  intercept(context: ExecutionContext, next: CallHandler<Definition>): Observable<Definition> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(tap(({ revision }) => void reply.header('etag', `"${revision}"`)));
  }
}
