import { applyDecorators, type CanActivate, type ExecutionContext, Injectable, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { unknownField, validationFailed } from './validation.error.js';

/** Rejects a request with query parameters, or with a body other than an empty object. */
@Injectable()
class NoInputGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { query, body } = context.switchToHttp().getRequest<FastifyRequest>();
    if (Array.isArray(body) || (typeof body !== 'object' && body !== undefined))
      throw validationFailed([{ field: 'body', message: 'body must be absent or an empty JSON object' }]);
    const names = [...Object.keys(query ?? {}), ...Object.keys(body ?? {})];
    if (names.length > 0) throw validationFailed(names.map((name) => unknownField('', name, () => [])));
    return true;
  }
}

/** For a route that has no query and no body: without a DTO, the validation pipe checks nothing. */
export function NoInput(): MethodDecorator {
  return applyDecorators(UseGuards(NoInputGuard));
}
