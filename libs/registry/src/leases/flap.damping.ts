/** Flap damping as in RFC 2439: each flap adds a penalty that decays over time, and two thresholds give hysteresis. */
export interface FlapPolicy {
  /** The penalty for leaving and joining once. */
  penaltyPerFlap: number;
  /** The time in which a penalty decays to one half. */
  halfLifeMs: number;
  /** An agent with at least this penalty is excluded from rankings. */
  suppressAt: number;
  /** An excluded agent returns when its penalty is below this. */
  reuseBelow: number;
  /** The longest exclusion after the last flap. */
  longestMs: number;
}

export const DEFAULT_FLAP_POLICY: FlapPolicy = {
  penaltyPerFlap: 1_000,
  halfLifeMs: 60_000,
  suppressAt: 3_000,
  reuseBelow: 1_000,
  longestMs: 600_000,
};

/** The penalty at the time `at`. */
export interface FlapState {
  penalty: number;
  at: number;
  suppressed: boolean;
}

export const NEVER_FLAPPED: FlapState = Object.freeze({ penalty: 0, at: 0, suppressed: false });

/** The penalty at `now`. It does not change if `now` is before `at`. */
export function flapPenalty({ penalty, at }: FlapState, now: number, { halfLifeMs }: FlapPolicy): number {
  return penalty * 0.5 ** (Math.max(0, now - at) / halfLifeMs);
}

/** The state after one more flap: the agent left and registered again. */
export function noteFlap(before: FlapState, now: number, policy: FlapPolicy): FlapState {
  const penalty = Math.min(flapPenalty(before, now, policy) + policy.penaltyPerFlap, highestPenalty(policy));
  const suppressed = penalty >= policy.suppressAt || isSuppressed(before, now, policy);
  return { penalty, at: Math.max(before.at, now), suppressed };
}

export function isSuppressed(state: FlapState, now: number, policy: FlapPolicy): boolean {
  return state.suppressed && flapPenalty(state, now, policy) >= policy.reuseBelow;
}

/** When the exclusion ends if the agent does not flap again; null if it is not excluded. */
export function suppressedUntil(state: FlapState, now: number, policy: FlapPolicy): number | null {
  if (!isSuppressed(state, now, policy)) return null;
  const halvings = Math.log2(state.penalty / policy.reuseBelow);
  return Math.floor(state.at + halvings * policy.halfLifeMs) + 1;
}

/** The penalty that decays to the reuse threshold in exactly `longestMs`. */
function highestPenalty({ reuseBelow, longestMs, halfLifeMs }: FlapPolicy): number {
  return reuseBelow * 2 ** (longestMs / halfLifeMs);
}

export function flapPolicyFaults(policy: FlapPolicy): string[] {
  const faults: string[] = [];
  const { suppressAt, reuseBelow, halfLifeMs } = policy;
  if (halfLifeMs <= 0)
    faults.push(`halfLifeMs (${halfLifeMs}) must be more than 0: the decay of a penalty would be undefined`);
  if (reuseBelow <= 0) faults.push(`reuseBelow (${reuseBelow}) must be more than 0: a penalty never decays to 0`);
  if (reuseBelow >= suppressAt) {
    faults.push(
      `reuseBelow (${reuseBelow}) must be less than suppressAt (${suppressAt}): an agent would be excluded and included at the same time`,
    );
  }
  if (highestPenalty(policy) < suppressAt) {
    faults.push(`longestMs (${policy.longestMs}) is too short: no penalty could reach suppressAt (${suppressAt})`);
  }
  return faults;
}
