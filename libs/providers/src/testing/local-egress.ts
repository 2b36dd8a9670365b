import { EgressClient, PATIENT_LIMITS, type EgressLimits } from '../egress/egress.client.js';
import { EgressPolicy } from '../egress/egress.policy.js';

/** A guarded client that may call this machine, and nothing but this machine and the Internet. */
export function localEgress(limits: Partial<EgressLimits> = {}): EgressClient {
  return new EgressClient({
    policy: new EgressPolicy({ allowLoopback: true }),
    limits: { ...PATIENT_LIMITS, ...limits },
  });
}
