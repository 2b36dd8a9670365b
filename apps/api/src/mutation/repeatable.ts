import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { MUTATION, type MutationOptions } from './mutation.interceptor.js';

/**
 * For a POST that is safe to repeat: a query or a heartbeat. It is executed each time, because a stored response would be
 * stale. An Idempotency-Key has no effect, and nothing is audited.
 */
export function Repeatable(): MethodDecorator {
  const options: MutationOptions = { audit: null, repeatable: true };
  return applyDecorators(
    SetMetadata(MUTATION, options),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Accepted and ignored: repeating this request is safe without a key.',
      schema: { type: 'string', maxLength: 255 },
    }),
  );
}
