import type { KeyRow } from '#rollcall/platform';
import { isRole, permissionsOf } from './permissions.js';
import type { Principal } from './principal.js';

const PREFIX = 'key:';

export function keyPrincipalId(keyId: string): string {
  return PREFIX + keyId;
}

export function keyIdOf(principalId: string): string {
  return principalId.slice(PREFIX.length);
}

/** The caller that an API key identifies. */
export function keyPrincipal({ id, originId, hash, name, roles, expiresAt }: KeyRow): Principal {
  const known = roles.filter(isRole);
  return {
    id: keyPrincipalId(id),
    kind: 'key',
    owner: keyPrincipalId(originId ?? id),
    name,
    roles: known,
    permissions: permissionsOf(known),
    fingerprint: hash.toString('hex').slice(0, 16),
    expiresAt,
  };
}
