/** How often agents send heartbeats, and how many they may miss. All times are in milliseconds. */
export interface LeasePolicy {
  /** The longest time between two heartbeats of an agent. */
  intervalMs: number;
  /** An agent is suspect after this many consecutive missed heartbeats. */
  missesUntilSuspect: number;
  /** An agent is evicted after this many consecutive missed heartbeats. */
  missesUntilEvicted: number;
  /** Allowance for network delay. It is added once to the whole period, not to each heartbeat. */
  graceMs: number;
  /** The interval is shortened by a random share of up to this much, so that agents do not send heartbeats at the same time. */
  jitter: number;
}

export const DEFAULT_LEASE_POLICY: LeasePolicy = {
  intervalMs: 10_000,
  missesUntilSuspect: 2,
  missesUntilEvicted: 3,
  graceMs: 1_000,
  jitter: 0.1,
};

export function suspectAfterMs({ intervalMs, missesUntilSuspect, graceMs }: LeasePolicy): number {
  return intervalMs * missesUntilSuspect + graceMs;
}

/** How long a lease lasts after a heartbeat: until `missesUntilEvicted` heartbeats in a row are missed and the grace period is over. */
export function leaseTtlMs({ intervalMs, missesUntilEvicted, graceMs }: LeasePolicy): number {
  return intervalMs * missesUntilEvicted + graceMs;
}

/** The interval that the response to a heartbeat contains. It never exceeds `intervalMs`. `chance` is a random number in [0, 1). */
export function nextIntervalMs({ intervalMs, jitter }: LeasePolicy, chance: number): number {
  return Math.round(intervalMs * (1 - jitter * chance));
}

/** Returns one message for each setting that is invalid or contradicts another one. */
export function leasePolicyFaults(policy: LeasePolicy, sweepEveryMs: number): string[] {
  const { intervalMs, missesUntilSuspect, missesUntilEvicted, graceMs, jitter } = policy;
  const rules: [boolean, string][] = [
    [intervalMs > 0, `intervalMs (${intervalMs}) must be more than 0: agents would send beats without a pause`],
    [
      missesUntilSuspect >= 1,
      `missesUntilSuspect (${missesUntilSuspect}) must be at least 1: an agent that misses no beat would be suspect`,
    ],
    [
      missesUntilEvicted > missesUntilSuspect,
      `missesUntilEvicted (${missesUntilEvicted}) must be more than missesUntilSuspect (${missesUntilSuspect}): ` +
        'agents would be evicted without being suspect first, and self-preservation could not react in time',
    ],
    [graceMs >= 0, `graceMs (${graceMs}) must not be negative: leases would end before the next beat is due`],
    [
      graceMs < intervalMs,
      `graceMs (${graceMs}) must be shorter than intervalMs (${intervalMs}): every eviction would come one beat late`,
    ],
    [
      jitter >= 0 && jitter <= 0.5,
      `jitter (${jitter}) must be from 0 to 0.5: it is the share by which an interval is shortened`,
    ],
    [
      sweepEveryMs <= intervalMs,
      `sweepEveryMs (${sweepEveryMs}) must not be longer than intervalMs (${intervalMs}): ` +
        'agents would stay listed after more missed beats than the policy allows',
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, fault]) => fault);
}
