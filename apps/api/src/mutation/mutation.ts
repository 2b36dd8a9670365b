import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
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

/**
 * For a POST that is safe to repeat: a query or a heartbeat. It is executed each time, because a stored response would be
 * stale. An Idempotency-Key has no effect, and nothing is audited.
 */
export function Repeatable(): MethodDecorator {
  const options: MutationOptions = { audit: null, repeatable: true };
  return applyDecorators(
    SetMetadata(MUTATION, options),
    ApiExtension('x-repeatable', true), // generated clients repeat it without a key
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Accepted and ignored: repeating this request is safe without a key.',
      schema: { type: 'string', maxLength: 255 },
    }),
  );
}

/**
 * For a route whose service commits the change together with its audit record, and recognises repetitions itself. `audit` names the
 * action for the census of routes.
 */
export function SelfAudited(audit: string): MethodDecorator {
  const options: MutationOptions = { audit };
  return SetMetadata(MUTATION, options);
}
