import type { OutboundOptions } from '../agents/agent.provider.js';
import { EgressClient, type EgressLimits, LONG_CALL_LIMITS } from '../egress/egress.client.js';
import { EgressPolicy } from '../egress/egress.policy.js';

/** An egress client that may call this machine and the public Internet. */
export function localEgress(limits: Partial<EgressLimits> = {}): EgressClient {
  return new EgressClient({
    policy: new EgressPolicy({ allowLoopback: true }),
    limits: { ...LONG_CALL_LIMITS, ...limits },
  });
}

/**
 * The options of an agent provider that sends requests: this machine and the public Internet are allowed, and there are
 * no keys.
 */
export function localOutbound(): OutboundOptions & { close(): Promise<void> } {
  const egress = localEgress();
  const policy = new EgressPolicy({ allowLoopback: true });
  return { fetch: egress.fetch, policy, secrets: () => undefined, close: async () => await egress.close() };
}
