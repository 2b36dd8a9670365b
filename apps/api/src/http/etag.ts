import { createHash } from 'node:crypto';
import {
  applyDecorators,
  type CallHandler,
  createParamDecorator,
  type ExecutionContext,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { map, type Observable } from 'rxjs';
import { validationFailed } from './validation/validation.errors.js';

/** The value of the header `ETag` for this content. It is the same on all replicas. */
export function etagOf(content: string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`;
}

const TAGS = /^\s*(?:W\/)?("[^"]*")\s*$/;

/**
 * Whether the client already has this version, by `If-None-Match`: a list of tags, or `*` for any version. The comparison is weak
 * (RFC 9110), because a proxy that compresses a response makes its tag weak.
 */
export function hasVersion({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>, etag: string): boolean {
  const header = headers['if-none-match'];
  if (header === undefined || (method !== 'GET' && method !== 'HEAD')) return false;
  return header.trim() === '*' || header.split(',').some((one) => TAGS.exec(one)?.[1] === etag);
}

/** How the versions of one kind of record are written in the headers `ETag` and `If-Match`, without the quotes. */
export interface VersionFormat<Version extends string | number = string | number> {
  readonly pattern: RegExp;
  readonly parse: (text: string) => Version;
  /** Completes "If-Match must be * or …". */
  readonly expected: string;
}

/**
 * The version in `If-Match`, as a parameter of a route; undefined when any version is accepted. `*` accepts any version: the response
 * for a missing record is 404 anyway.
 */
export const IfMatch = createParamDecorator((format: VersionFormat, context: ExecutionContext) =>
  versionIn(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match'], format),
);

function versionIn(
  header: string | undefined,
  { pattern, parse, expected }: VersionFormat,
): string | number | undefined {
  if (header === undefined || header === '*') return undefined;
  const text = /^"(.*)"$/.exec(header)?.[1];
  if (text !== undefined && pattern.test(text)) return parse(text);
  throw validationFailed([{ field: 'If-Match', message: `If-Match must be * or ${expected}` }]);
}

/** A record with its version, as `SendsVersion` needs them. */
interface Versioned {
  readonly version: string | number;
  readonly body: object;
}

/** The parameter is the type that the handler returns. */
type ReadVersion = (result: never) => Versioned;

/** Sends the version of a record as the header `ETag`, for `If-Match`. `read` takes the version and the body from the result of the handler. */
export function SendsVersion(read: ReadVersion): MethodDecorator {
  return applyDecorators(UseInterceptors(new VersionInterceptor(read)));
}

class VersionInterceptor implements NestInterceptor<unknown, object> {
  constructor(private readonly read: ReadVersion) {}

  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<object> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      map((result) => {
        const { version, body } = this.read(result as never);
        void reply.header('etag', `"${version}"`);
        return body;
      }),
    );
  }
}
