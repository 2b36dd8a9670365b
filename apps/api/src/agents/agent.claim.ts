import type { AgentClaim } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { ApiError } from '../http/api.error.js';

/** For whom a caller speaks. An agent says which of its lives it is; an operator may mean whichever is the current one. */
export function claimOf(agentId: string, generation: number | null | undefined, { leaseHash }: Principal): AgentClaim {
  if (leaseHash === undefined || typeof generation === 'number')
    return { agentId, generation: generation ?? null, tokenHash: leaseHash ?? null };
  const message = 'generation must be that of your registration';
  throw new ApiError('VALIDATION_FAILED', 'Please correct: generation.', {
    errors: [{ field: 'generation', message }],
  });
}
