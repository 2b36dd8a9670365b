import type { EgressPolicy } from '../egress/egress.policy.js';
import type { SecretSource } from '../secret.js';

/** What providers need that call out: a guarded fetch, the policy behind it, and the keys that may be used. */
export interface OutboundOptions {
  fetch: typeof fetch;
  policy: EgressPolicy;
  secrets: SecretSource;
}
