import { ALL_NAMESPACES, type KeyRow, type SessionRow } from '#rollcall/platform';
import { isRole, LEASE_PERMISSIONS, type Permission, permissionsOf, type Role } from '../permissions.js';

/** What a credential permits in one namespace, or in all namespaces if `namespace` is `*`. */
export interface Grant {
  namespace: string;
  roles: readonly Role[];
  permissions: readonly Permission[];
}

/** Who a credential belongs to, and where it gives access. */
export interface Identity {
  /** The same in all requests: `key:<id>`, `oidc:<subject>` or `lease:<hash>`. */
  readonly id: string;
  kind: 'key' | 'oidc' | 'lease';
  /** The owner of the agents and runs that this principal creates. Unlike `id`, it stays the same when an API key is rotated. */
  owner: string;
  /** The hash of a lease token. Each statement compares it with the hash of the agent it changes. */
  leaseHash?: string;
  /** The hash of a session. The principal is the one of its API key. */
  sessionHash?: string;
  name: string;
  grants: readonly Grant[];
  /** Distinguishes credentials in the audit log without revealing them. */
  fingerprint: string;
  expiresAt: Date | null;
}

export function grantOf(namespace: string, roles: readonly Role[]): Grant {
  return { namespace, roles, permissions: permissionsOf(roles) };
}

/** Returns the union of the grants that apply in the namespace; undefined if there is none. A grant for `*` applies in every namespace. */
export function grantIn({ grants }: Identity, namespace: string): Grant | undefined {
  const matching = grants.filter((grant) => grant.namespace === namespace || grant.namespace === ALL_NAMESPACES);
  if (matching.length === 0) return undefined;
  const roles = [...new Set(matching.flatMap((grant) => grant.roles))];
  const permissions = [...new Set(matching.flatMap((grant) => grant.permissions))].toSorted();
  return { namespace, roles, permissions };
}

const PREFIX = 'key:';

export function keyPrincipalId(keyId: string): string {
  return PREFIX + keyId;
}

export function keyIdOf(principalId: string): string {
  return principalId.slice(PREFIX.length);
}

/** The identity of an API key. */
export function keyIdentity({ id, originId, hash, name, namespace, roles, expiresAt }: KeyRow): Identity {
  return {
    id: keyPrincipalId(id),
    kind: 'key',
    owner: keyPrincipalId(originId ?? id),
    name,
    grants: [grantOf(namespace, roles.filter(isRole))],
    fingerprint: hash.toString('hex').slice(0, 16),
    expiresAt,
  };
}

/** The identity of an API key in a session: the same principal, with the roles of the session. The roles of a key never change. */
export function sessionIdentity(sessionHash: string, { key, roles, expiresAt }: SessionRow): Identity {
  const fingerprint = sessionHash.slice(0, 16);
  return {
    ...keyIdentity(key),
    grants: [grantOf(key.namespace, roles.filter(isRole))],
    sessionHash,
    fingerprint,
    expiresAt,
  };
}

/** The holder of a lease token. It may act only for the agent that the token belongs to; each statement checks this. */
export function leaseIdentity(leaseHash: string, namespace: string): Identity {
  const fingerprint = leaseHash.slice(0, 16);
  const id = `lease:${fingerprint}`;
  const grants = [{ namespace, roles: [], permissions: LEASE_PERMISSIONS }];
  return { id, kind: 'lease', owner: id, name: id, leaseHash, grants, fingerprint, expiresAt: null };
}
