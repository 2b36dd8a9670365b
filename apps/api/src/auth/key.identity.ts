import type { KeyRow } from '#rollcall/platform';
import { grantOf, type Identity } from './identity.js';
import { isRole } from './permissions.js';

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
