import type { OutboundOptions } from '../agents/outbound.js';
import { EgressClient, LONG_CALL_LIMITS, type EgressLimits } from '../egress/egress.client.js';
import { EgressPolicy } from '../egress/egress.policy.js';

/** A guarded client that may call this machine, and nothing but this machine and the Internet. */
export function localEgress(limits: Partial<EgressLimits> = {}): EgressClient {
  return new EgressClient({
    policy: new EgressPolicy({ allowLoopback: true }),
    limits: { ...LONG_CALL_LIMITS, ...limits },
  });
}

/** What an agent provider that calls out is given, limited to this machine and the Internet, and without any key. */
export function localOutbound(): OutboundOptions & { close(): Promise<void> } {
  const egress = localEgress();
  const policy = new EgressPolicy({ allowLoopback: true });
  return { fetch: egress.fetch, policy, secrets: () => undefined, close: async () => await egress.close() };
}
