import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { MUTATION, type MutationFacts } from './mutation.facts.js';

/**
 * For a POST that is safe to repeat: a query or a heartbeat. It is executed each time, because a stored response would be
 * stale, so an Idempotency-Key has no effect. Nothing of it is audited.
 */
export function Repeatable(): MethodDecorator {
  const facts: MutationFacts = { audit: null, repeatable: true };
  return applyDecorators(
    SetMetadata(MUTATION, facts),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Accepted and ignored: repeating this request is safe without a key.',
      schema: { type: 'string', maxLength: 255 },
    }),
  );
}
