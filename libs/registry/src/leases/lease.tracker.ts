import { leaseTtlMs, suspectAfterMs, type LeasePolicy } from './lease.policy.js';

/** An agent's right to be listed, since its last beat. A beat renews it and takes back all extensions. */
export interface Lease {
  lastBeatAt: number;
  /** Time that does not count, because nobody could have heard the agent. */
  extendedByMs: number;
}

/** A stretch of time in which beats may have been lost on our side: no sweep ran, or the database was away. */
export interface Gap {
  from: number;
  to: number;
}

export interface LeaseStanding {
  state: 'active' | 'suspect' | 'expired';
  /** Whole beats missed in a row. */
  missedBeats: number;
  suspectAt: number;
  expiresAt: number;
}

/**
 * Where a lease stands at `now`. An agent that has expired may be evicted, it need not be: a lease promises that an agent
 * stays listed for at least so long.
 */
export function trackLease(lease: Lease, policy: LeasePolicy, now: number): LeaseStanding {
  const countsFrom = lease.lastBeatAt + lease.extendedByMs;
  const suspectAt = countsFrom + suspectAfterMs(policy);
  const expiresAt = countsFrom + leaseTtlMs(policy);
  const missedBeats = Math.max(0, Math.floor((now - countsFrom - policy.graceMs) / policy.intervalMs));
  const state = now >= expiresAt ? 'expired' : now >= suspectAt ? 'suspect' : 'active';
  return { state, missedBeats, suspectAt, expiresAt };
}

/**
 * The lease with the gap taken out of its time: what was left of it when the gap began is left when it ends. An agent that
 * beat within the gap was heard, so only what came after that beat counts.
 */
export function extendLease(lease: Lease, gap: Gap): Lease {
  const lost = Math.max(0, gap.to - Math.max(gap.from, lease.lastBeatAt));
  return lost === 0 ? lease : { ...lease, extendedByMs: lease.extendedByMs + lost };
}

export function beatLease(lease: Lease, now: number): Lease {
  return { lastBeatAt: Math.max(lease.lastBeatAt, now), extendedByMs: 0 };
}
