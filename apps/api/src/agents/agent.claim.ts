import { qualifiedId } from '#rollcall/platform';
import type { AgentClaim } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { validationFailed } from '../http/validation.error.js';

/**
 * The registration that a caller acts on. With a lease token, the caller must send its generation; for the owner and for operators,
 * the current one is the default.
 */
export function claimOf(id: string, generation: number | null | undefined, caller: Principal): AgentClaim {
  const { leaseHash } = caller;
  const agentId = qualifiedId(caller.namespace, id);
  if (leaseHash === undefined || typeof generation === 'number')
    return { agentId, generation: generation ?? null, tokenHash: leaseHash ?? null, owner: requiredOwner(caller) };
  throw validationFailed([{ field: 'generation', message: 'generation must be the generation of your registration' }]);
}

/** The owner of the agents that the caller may act for. Undefined if its lease token decides, or if it is an operator. */
export function requiredOwner(caller: Principal): string | undefined {
  return caller.leaseHash !== undefined || mayActForAll(caller) ? undefined : caller.owner;
}

export function mayActForAll({ permissions }: Principal): boolean {
  return permissions.includes('agents:operate');
}
