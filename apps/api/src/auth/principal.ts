import type { Permission, Role } from './permissions.js';

/** Who is asking, as far as we could make sure. */
export interface Principal {
  /** Stable over requests: `key:<id>` or `oidc:<subject>`. */
  id: string;
  kind: 'key' | 'oidc';
  name: string;
  roles: readonly Role[];
  /** Sorted. */
  permissions: readonly Permission[];
  /** Tells credentials apart in the audit log without giving them away. */
  fingerprint: string;
  expiresAt: Date | null;
}
