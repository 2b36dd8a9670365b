import { qualifiedId } from '#rollcall/platform';
import type { AgentCredential } from '#rollcall/registry';
import type { Principal } from '../auth/principal.js';
import { validationFailed } from '../http/validation/validation.errors.js';

/**
 * The registration that a caller acts on. A caller with a lease token must send the generation; the owner and operators may leave it
 * out, which means the current generation.
 */
export function agentCredential(id: string, generation: number | null | undefined, caller: Principal): AgentCredential {
  const { leaseHash } = caller;
  const agentId = qualifiedId(caller.namespace, id);
  if (leaseHash === undefined || typeof generation === 'number')
    return { agentId, generation: generation ?? null, tokenHash: leaseHash ?? null, owner: requiredOwner(caller) };
  throw validationFailed([{ field: 'generation', message: 'generation must be the generation of your registration' }]);
}

/** The owner whose agents the caller may act for. Undefined for a lease token, which belongs to one agent, and for operators. */
export function requiredOwner(caller: Principal): string | undefined {
  return caller.leaseHash !== undefined || mayActForAll(caller) ? undefined : caller.owner;
}

export function mayActForAll({ permissions }: Principal): boolean {
  return permissions.includes('agents:operate');
}
