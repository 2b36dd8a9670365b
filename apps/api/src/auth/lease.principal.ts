import { LEASE_PERMISSIONS } from './permissions.js';
import type { Principal } from './principal.js';

/** The holder of a lease token. It may act only for the agent that the token belongs to; each statement checks this. */
export function leasePrincipal(leaseHash: string): Principal {
  const fingerprint = leaseHash.slice(0, 16);
  const id = `lease:${fingerprint}`;
  return {
    id,
    kind: 'lease',
    owner: id,
    name: id,
    leaseHash,
    roles: [],
    permissions: LEASE_PERMISSIONS,
    fingerprint,
    expiresAt: null,
  };
}
