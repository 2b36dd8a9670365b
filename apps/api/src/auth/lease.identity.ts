import type { Identity } from './identity.js';
import { LEASE_PERMISSIONS } from './permissions.js';

/** The holder of a lease token. It may act only for the agent that the token belongs to; each statement checks this. */
export function leaseIdentity(leaseHash: string, namespace: string): Identity {
  const fingerprint = leaseHash.slice(0, 16);
  const id = `lease:${fingerprint}`;
  const grants = [{ namespace, roles: [], permissions: LEASE_PERMISSIONS }];
  return { id, kind: 'lease', owner: id, name: id, leaseHash, grants, fingerprint, expiresAt: null };
}
