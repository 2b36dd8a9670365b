import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { Problems } from '../http/problems/problem.docs.js';
import { MUTATION, MutationInterceptor, type MutationOptions } from './mutation.interceptor.js';

/**
 * For every route that changes state. The change and its audit record, if it has one, are committed in one transaction. A repetition
 * with the same Idempotency-Key returns the first response without a second effect.
 */
export function Mutation(options: MutationOptions): MethodDecorator {
  return applyDecorators(SetMetadata(MUTATION, options), UseInterceptors(MutationInterceptor), IdempotencyHeader());
}

/** Documents the Idempotency-Key of a route, and the errors that it may cause. */
export function IdempotencyHeader(): MethodDecorator {
  return applyDecorators(
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description:
        'A value that you use for only one operation, such as a new UUID. For 24 hours by default, a repetition with the same key returns the first response.',
      schema: { type: 'string', maxLength: 255 },
    }),
    Problems('IDEMPOTENCY_KEY_INVALID', 'IDEMPOTENCY_IN_PROGRESS', 'IDEMPOTENCY_KEY_REUSED'),
  );
}
