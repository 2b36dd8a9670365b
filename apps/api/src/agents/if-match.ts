import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../http/validation/validation.errors.js';

const ONE_VERSION = /^"(\d{1,16}\.\d{1,16})"$/;

/** The version in `If-Match`, as a parameter of a route; undefined when any version is accepted. */
export const IfMatch = createParamDecorator((_: unknown, context: ExecutionContext) =>
  versionIn(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
);

/** `*` accepts any version; the response for a missing agent is 404 anyway. */
function versionIn(header: string | undefined): string | undefined {
  if (header === undefined || header === '*') return undefined;
  const version = ONE_VERSION.exec(header)?.[1];
  if (version !== undefined) return version;
  const message = 'If-Match must be * or the ETag of the record, for example "3.7"';
  throw validationFailed([{ field: 'If-Match', message }]);
}
