import { SetMetadata } from '@nestjs/common';
import { MUTATION, type MutationOptions } from './mutation.interceptor.js';

/**
 * For a route whose service commits the change together with its audit record, and recognises repetitions itself. `audit` names the
 * action for the census of routes.
 */
export function SelfAudited(audit: string): MethodDecorator {
  const options: MutationOptions = { audit };
  return SetMetadata(MUTATION, options);
}
