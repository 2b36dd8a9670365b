import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import type { AgentRecord, VersionedAgent } from '#rollcall/registry';

/** Sends the record as the body and its version as the header `ETag`. */
@Injectable()
export class VersionTagInterceptor implements NestInterceptor<VersionedAgent, AgentRecord> {
  intercept(context: ExecutionContext, next: CallHandler<VersionedAgent>): Observable<AgentRecord> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      map(({ record, version }) => {
        void reply.header('etag', `"${version}"`);
        return record;
      }),
    );
  }
}
