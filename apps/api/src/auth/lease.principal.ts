import { LEASE_PERMISSIONS } from './permissions.js';
import type { Principal } from './principal.js';

/** The holder of a lease token. It may act for the agent the token belongs to and do nothing else; the statement that acts checks whose it is. */
export function leasePrincipal(leaseHash: string): Principal {
  const fingerprint = leaseHash.slice(0, 16);
  const id = `lease:${fingerprint}`;
  return {
    id,
    kind: 'lease',
    name: id,
    leaseHash,
    roles: [],
    permissions: LEASE_PERMISSIONS,
    fingerprint,
    expiresAt: null,
  };
}
