import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { validationFailed } from '../http/validation/validation.errors.js';

const REVISION = /^"(\d{1,9})"$/;

/** Passes the revision in the `If-Match` header to the handler; undefined if the header is absent or `*`. */
export const IfRevision = createParamDecorator((_: unknown, context: ExecutionContext) =>
  revisionIn(context.switchToHttp().getRequest<FastifyRequest>().headers['if-match']),
);

function revisionIn(header: string | undefined): number | undefined {
  if (header === undefined || header === '*') return undefined;
  const revision = REVISION.exec(header)?.[1];
  if (revision !== undefined) return Number(revision);
  const message = 'If-Match must be * or the revision of the definition in quotes, for example "3"';
  throw validationFailed([{ field: 'If-Match', message }]);
}
