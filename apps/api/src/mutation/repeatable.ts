import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import { MUTATION, type MutationFacts } from './mutation.facts.js';

/**
 * On a POST that may be sent again without harm: a question, or a beat. It is done again each time, because the first
 * answer would be an old one, so an Idempotency-Key changes nothing; and nothing of it is audited.
 */
export function Repeatable(): MethodDecorator {
  const facts: MutationFacts = { audit: null, repeatable: true };
  return applyDecorators(
    SetMetadata(MUTATION, facts),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'Taken and without effect: repeating this request is safe as it is.',
      schema: { type: 'string', maxLength: 255 },
    }),
  );
}
