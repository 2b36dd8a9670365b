/** As routers damp routes that come and go (RFC 2439): each flap costs, time heals, and two thresholds keep it calm. */
export interface FlapPolicy {
  /** What one leave-and-join costs. */
  penaltyPerFlap: number;
  /** After this long half of a penalty is forgotten. */
  halfLifeMs: number;
  /** From this penalty on an agent is kept out of rankings … */
  suppressAt: number;
  /** … until it has fallen below this. */
  reuseBelow: number;
  /** Nobody is kept out for longer than this after its last flap. */
  longestMs: number;
}

export const DEFAULT_FLAP_POLICY: FlapPolicy = {
  penaltyPerFlap: 1_000,
  halfLifeMs: 60_000,
  suppressAt: 3_000,
  reuseBelow: 1_000,
  longestMs: 600_000,
};

/** A plain value: the penalty as it was at a moment. */
export interface FlapState {
  penalty: number;
  at: number;
  suppressed: boolean;
}

export const NEVER_FLAPPED: FlapState = Object.freeze({ penalty: 0, at: 0, suppressed: false });

/** The penalty at `now`. A clock that went back forgets nothing and adds nothing. */
export function flapPenalty({ penalty, at }: FlapState, now: number, { halfLifeMs }: FlapPolicy): number {
  return penalty * 0.5 ** (Math.max(0, now - at) / halfLifeMs);
}

/** The agent left and came back once more. */
export function noteFlap(before: FlapState, now: number, policy: FlapPolicy): FlapState {
  const penalty = Math.min(flapPenalty(before, now, policy) + policy.penaltyPerFlap, highestPenalty(policy));
  const suppressed = penalty >= policy.suppressAt || isSuppressed(before, now, policy);
  return { penalty, at: Math.max(before.at, now), suppressed };
}

export function isSuppressed(state: FlapState, now: number, policy: FlapPolicy): boolean {
  return state.suppressed && flapPenalty(state, now, policy) >= policy.reuseBelow;
}

/** Until when it is kept out if it does not flap again; null when it is not. */
export function suppressedUntil(state: FlapState, now: number, policy: FlapPolicy): number | null {
  if (!isSuppressed(state, now, policy)) return null;
  const halvings = Math.log2(state.penalty / policy.reuseBelow);
  return Math.floor(state.at + halvings * policy.halfLifeMs) + 1;
}

/** The penalty from which it takes just `longestMs` to fall to the reuse threshold. */
function highestPenalty({ reuseBelow, longestMs, halfLifeMs }: FlapPolicy): number {
  return reuseBelow * 2 ** (longestMs / halfLifeMs);
}

export function flapPolicyFaults(policy: FlapPolicy): string[] {
  const faults: string[] = [];
  const { suppressAt, reuseBelow, halfLifeMs } = policy;
  if (halfLifeMs <= 0) faults.push(`halfLifeMs (${halfLifeMs}) must be more than 0: penalties would never heal`);
  if (reuseBelow <= 0) faults.push(`reuseBelow (${reuseBelow}) must be more than 0: a penalty never falls to nothing`);
  if (reuseBelow >= suppressAt) {
    faults.push(
      `reuseBelow (${reuseBelow}) must be less than suppressAt (${suppressAt}): agents would be kept out and let in at once`,
    );
  }
  if (highestPenalty(policy) < suppressAt) {
    faults.push(`longestMs (${policy.longestMs}) is so short that no penalty could reach suppressAt (${suppressAt})`);
  }
  return faults;
}
