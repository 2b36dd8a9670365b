import type { Permission, Role } from './permissions.js';
import type { ConcurrentCaller } from '../http/concurrency.limiter.js';
import type { RateLimitedCaller } from './rate.limiter.js';

/** Who sends a request, as the credential proves it. */
export interface Principal extends RateLimitedCaller, ConcurrentCaller {
  /** Stable over requests: `key:<id>`, `oidc:<subject>` or `lease:<hash>`. */
  id: string;
  kind: 'key' | 'oidc' | 'lease';
  /** Owns the agents and runs that this principal creates. Unlike `id`, it stays the same when an API key is rotated. */
  owner: string;
  /** The hash of a lease token. Each statement compares it with the hash of the agent it changes. */
  leaseHash?: string;
  name: string;
  roles: readonly Role[];
  /** Sorted. */
  permissions: readonly Permission[];
  /** Distinguishes credentials in the audit log without revealing them. */
  fingerprint: string;
  expiresAt: Date | null;
}
