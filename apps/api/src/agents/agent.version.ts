import {
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';
import type { AgentRecord, VersionedAgent } from '#rollcall/registry';
import { validationFailed } from '../http/validation.error.js';

const ONE_VERSION = /^"(\d{1,16}\.\d{1,16})"$/;

/** The version in `If-Match`, as a parameter of a route; undefined when any version is accepted. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext) =>
  versionIn(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
);

/** `*` accepts any version; a missing agent is 404 anyway. */
function versionIn(header: string | undefined): string | undefined {
  if (header === undefined || header === '*') return undefined;
  const version = ONE_VERSION.exec(header)?.[1];
  if (version !== undefined) return version;
  const message = 'If-Match must be * or the ETag of the record, for example "3.7"';
  throw validationFailed([{ field: 'If-Match', message }]);
}

/** Sends the record as the body and its version as the header `ETag`. */
@Injectable()
export class VersionTag implements NestInterceptor<VersionedAgent, AgentRecord> {
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
