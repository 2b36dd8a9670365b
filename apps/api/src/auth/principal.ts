import type { Permission, Role } from './permissions.js';
import type { Occupant } from '../http/concurrency.limiter.js';
import type { Counted } from './rate.limiter.js';

/** Who is asking, as far as we could make sure. */
export interface Principal extends Counted, Occupant {
  /** Stable over requests: `key:<id>`, `oidc:<subject>` or `lease:<hash>`. */
  id: string;
  kind: 'key' | 'oidc' | 'lease';
  /** Of an agent's lease token; the statement that acts compares it with the agent's. */
  leaseHash?: string;
  name: string;
  roles: readonly Role[];
  /** Sorted. */
  permissions: readonly Permission[];
  /** Tells credentials apart in the audit log without giving them away. */
  fingerprint: string;
  expiresAt: Date | null;
}
