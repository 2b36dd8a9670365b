/** How an award ended. `lapsed`: the agent did not confirm in time. `declined`: the agent declined the award. */
const AWARD_RESULTS = ['completed', 'failed', 'lapsed', 'declined'] as const;
export type AwardResult = (typeof AWARD_RESULTS)[number];

/** One earlier award of an agent: what it bid, and what really happened. Null means unknown. */
export interface PastAward {
  readonly result: AwardResult;
  readonly price: number;
  readonly etaMs: number;
  readonly actualMicroUsd: number | null;
  readonly actualMs: number | null;
}

/** What the earlier awards of an agent say about its next bid. */
export interface TrackRecord {
  readonly awards: number;
  /** From 0 to 1. An agent without awards has `UNKNOWN_RELIABILITY`. */
  readonly reliability: number;
  /** By which factor the actual cost and time exceed the bids on average; at least 1. */
  readonly costOverrun: number;
  readonly timeOverrun: number;
}

/** How many of the latest awards count. */
export const KEPT_AWARDS = 20;
const UNKNOWN_RELIABILITY = 0.8;
/** The default for an agent without awards counts as much as this many awards. */
const PRIOR_AWARDS = 2;
const MAX_OVERRUN = 10;

export const NO_TRACK_RECORD: TrackRecord = {
  awards: 0,
  reliability: UNKNOWN_RELIABILITY,
  costOverrun: 1,
  timeOverrun: 1,
};

/**
 * Learns from earlier awards. An award whose bid was kept counts 1, an award that took twice the time or the money counts 0.5, and an
 * award that failed or was not confirmed counts 0. An award with an unknown cost counts at most as much as the default for an agent without
 * awards. A few awards change the values only a little from this default.
 */
export function trackRecord(past: readonly PastAward[]): TrackRecord {
  const measured = past.filter(({ result }) => result === 'completed' || result === 'failed');
  const [priced, timed] = [measured.filter(hasCost), measured.filter(hasTime)];
  return {
    awards: past.length,
    reliability: smoothed(past.map(keptOf), UNKNOWN_RELIABILITY),
    costOverrun: smoothed(priced.map(costOverrunOf), 1),
    timeOverrun: smoothed(timed.map(timeOverrunOf), 1),
  };
}

function keptOf(award: PastAward): number {
  if (award.result !== 'completed') return 0;
  const most = hasCost(award) ? 1 : UNKNOWN_RELIABILITY;
  return most / (costOverrunOf(award) * timeOverrunOf(award));
}

function hasCost({ actualMicroUsd }: PastAward): boolean {
  return actualMicroUsd !== null;
}

function hasTime({ actualMs }: PastAward): boolean {
  return actualMs !== null;
}

function smoothed(values: readonly number[], prior: number): number {
  const sum = values.reduce((total, value) => total + value, prior * PRIOR_AWARDS);
  return sum / (values.length + PRIOR_AWARDS);
}

/** A bid of 0 counts as 1 micro-dollar, so that any cost after a free bid is an overrun. */
function costOverrunOf({ price, actualMicroUsd }: Pick<PastAward, 'price' | 'actualMicroUsd'>): number {
  return overrun(actualMicroUsd, Math.max(1, price));
}

function timeOverrunOf({ etaMs, actualMs }: Pick<PastAward, 'etaMs' | 'actualMs'>): number {
  return overrun(actualMs, Math.max(1, etaMs));
}

function overrun(actual: number | null, offered: number): number {
  return actual === null ? 1 : Math.min(MAX_OVERRUN, Math.max(1, actual / offered));
}
