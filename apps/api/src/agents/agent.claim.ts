import type { AgentClaim } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { validationFailed } from '../http/validation.error.js';

/** The registration that a caller acts on. An agent must send its generation; for an operator, the current one is the default. */
export function claimOf(agentId: string, generation: number | null | undefined, { leaseHash }: Principal): AgentClaim {
  if (leaseHash === undefined || typeof generation === 'number')
    return { agentId, generation: generation ?? null, tokenHash: leaseHash ?? null };
  throw validationFailed([{ field: 'generation', message: 'generation must be the generation of your registration' }]);
}
