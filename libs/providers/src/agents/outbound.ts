import type { EgressPolicy } from '../egress/egress.policy.js';
import type { SecretSource } from '../secret.js';

/** What a provider needs to send requests: the `fetch` of the egress client, its policy, and the keys that may be used. */
export interface OutboundOptions {
  fetch: typeof fetch;
  policy: EgressPolicy;
  secrets: SecretSource;
}
