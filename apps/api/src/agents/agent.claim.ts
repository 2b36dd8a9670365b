import { qualifiedId } from '#rollcall/platform';
import type { AgentClaim } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { validationFailed } from '../http/validation.error.js';

/** The registration that a caller acts on. An agent must send its generation; for an operator, the current one is the default. */
export function claimOf(id: string, generation: number | null | undefined, caller: Principal): AgentClaim {
  const { leaseHash } = caller;
  const agentId = qualifiedId(caller.namespace, id);
  if (leaseHash === undefined || typeof generation === 'number')
    return { agentId, generation: generation ?? null, tokenHash: leaseHash ?? null };
  throw validationFailed([{ field: 'generation', message: 'generation must be the generation of your registration' }]);
}
