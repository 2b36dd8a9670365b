import { applyDecorators, SetMetadata, UseInterceptors } from '@nestjs/common';
import { ApiConflictResponse, ApiHeader, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import { MUTATION, type MutationFacts } from './mutation.facts.js';
import { MutationInterceptor } from './mutation.interceptor.js';

/**
 * On every route that changes something: all of it happens in one transaction or not at all, together with its audit
 * record, and a repetition with the same Idempotency-Key gets the first answer instead of a second effect.
 */
export function Mutation(facts: MutationFacts): MethodDecorator {
  return applyDecorators(
    SetMetadata(MUTATION, facts),
    UseInterceptors(MutationInterceptor),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'A value of your making, best a UUID: repeating the request with it is safe for 24 hours.',
      schema: { type: 'string', maxLength: 255, example: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11' },
    }),
    ApiConflictResponse({ description: 'The state does not allow it; `code` says what stands in the way.' }),
    ApiUnprocessableEntityResponse({ description: 'IDEMPOTENCY_KEY_REUSED: the key belongs to another request.' }),
  );
}
