/** How often agents beat, and what their silence means. All times in milliseconds. */
export interface LeasePolicy {
  /** The longest an agent may wait between two beats. */
  intervalMs: number;
  /** So many beats missed in a row make it suspect … */
  missesUntilSuspect: number;
  /** … and so many end its lease. */
  missesUntilEvicted: number;
  /** What a beat may be late for reasons of the network, on top of its interval; once, not for each beat. */
  graceMs: number;
  /** Up to this share of the interval is taken off at random, so that a fleet does not beat in step. */
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

/** How long a lease lasts from a beat on: K intervals, so that the K-th missed beat ends it and not the 2K-th. */
export function leaseTtlMs({ intervalMs, missesUntilEvicted, graceMs }: LeasePolicy): number {
  return intervalMs * missesUntilEvicted + graceMs;
}

/** What a beat is answered: never more than the interval, or a punctual agent would miss beats. `chance` is in [0, 1). */
export function nextIntervalMs({ intervalMs, jitter }: LeasePolicy, chance: number): number {
  return Math.round(intervalMs * (1 - jitter * chance));
}

/** Settings that are each right but do not fit together. Every message says which to change, and why. */
export function leasePolicyFaults(policy: LeasePolicy, sweepEveryMs: number): string[] {
  const { intervalMs, missesUntilSuspect, missesUntilEvicted, graceMs, jitter } = policy;
  const rules: [boolean, string][] = [
    [intervalMs > 0, `intervalMs (${intervalMs}) must be more than 0: agents would beat without pause`],
    [
      missesUntilSuspect >= 1,
      `missesUntilSuspect (${missesUntilSuspect}) must be at least 1: a punctual agent would be suspect`,
    ],
    [
      missesUntilEvicted > missesUntilSuspect,
      `missesUntilEvicted (${missesUntilEvicted}) must be more than missesUntilSuspect (${missesUntilSuspect}): ` +
        'agents would be evicted without ever having been suspect, and self-preservation could not see it coming',
    ],
    [graceMs >= 0, `graceMs (${graceMs}) must not be negative: leases would end before the beat was due`],
    [
      graceMs < intervalMs,
      `graceMs (${graceMs}) must be shorter than intervalMs (${intervalMs}): every eviction would wait one more beat`,
    ],
    [jitter >= 0 && jitter <= 0.5, `jitter (${jitter}) must be from 0 to 0.5: it is the share taken off an interval`],
    [
      sweepEveryMs <= intervalMs,
      `sweepEveryMs (${sweepEveryMs}) must not be longer than intervalMs (${intervalMs}): ` +
        'agents would stay listed for more missed beats than the policy says',
    ],
  ];
  return rules.filter(([holds]) => !holds).map(([, fault]) => fault);
}
