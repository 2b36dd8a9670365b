import { type Role, ROLES } from '../../apps/api/src/auth/permissions.js';
import type { TestApi } from './api.js';

/** The namespace of the callers of a matrix. */
export const OWN = 'team-a';
/** Another namespace. */
export const OTHER = 'team-b';

/** The credentials of a matrix of roles: one key for each role, and the keys of two principals that own other objects. */
export class AccessKeys {
  private requests = 0;

  private constructor(
    private readonly api: TestApi,
    private readonly keys: ReadonlyMap<Role, string>,
    /** The key of another admin in the namespace `OWN`. */
    readonly colleague: string,
    /** The key of an admin in the namespace `OTHER`. */
    readonly neighbour: string,
    readonly invalid: Record<'revoked' | 'expired', string>,
  ) {}

  static async issue(api: TestApi): Promise<AccessKeys> {
    for (const name of [OWN, OTHER]) await api.call('POST', '/v1/namespaces', { body: { name } });
    const keys = new Map<Role, string>();
    for (const role of ROLES) keys.set(role, await api.issueKeyIn(OWN, role));
    const invalid = { revoked: await invalidKey(api, 'revoked_at'), expired: await invalidKey(api, 'expires_at') };
    return new AccessKeys(api, keys, await api.issueKeyIn(OWN, 'admin'), await api.issueKeyIn(OTHER, 'admin'), invalid);
  }

  /** The key of a role in the namespace `OWN`. */
  of(role: Role): string {
    return this.keys.get(role) ?? '';
  }

  /**
   * The headers of a request. A credential for all namespaces names the namespace `OWN`. Each request comes from another address,
   * because one address may send only a few invalid credentials in a second, and a fast machine sends more.
   */
  headers(key: string | null): Record<string, string> {
    this.requests += 1;
    return {
      'x-forwarded-for': `10.0.${this.requests >> 8}.${this.requests & 255}`,
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(key === this.api.adminKey && { 'rollcall-namespace': OWN }),
    };
  }
}

async function invalidKey(api: TestApi, column: 'revoked_at' | 'expires_at'): Promise<string> {
  const key = await api.issueKeyIn(OWN, 'admin');
  await api.database.db.query(`UPDATE api_key SET ${column} = clock_timestamp() - interval '1 hour' WHERE id = $1`, [
    key.split('_')[1],
  ]);
  return key;
}
