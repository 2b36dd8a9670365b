import type { Usage } from '#rollcall/registry';
import type { Charge, SpendingAmount } from './spending.js';

/** What recorded replies used of one hold. */
export interface RecordedUsage extends Usage {
  /** Whether the hold pays several calls. */
  readonly isShared: boolean;
}

/** What calls used of a hold that pays several of them. */
export interface SharedUsage extends SpendingAmount {
  readonly isEstimated: boolean;
}

const PART = '#';
const AMOUNT = ':';

/** The key of a hold that may pay several calls. It contains the amount of the first call. */
export function sharedKey(key: string, { tokens, microUsd }: SpendingAmount): string {
  return [key, tokens, microUsd].join(AMOUNT);
}

/** The key of one call that a shared hold pays. It contains the amount of the call, which is charged if its usage is unknown. */
export function partKey(hold: string, key: string, amount: SpendingAmount): string {
  return `${hold}${PART}${sharedKey(key, amount)}`;
}

/** The amount that the key of a hold or of a part contains. */
export function amountIn(key: string): SpendingAmount | undefined {
  const [, tokens, microUsd] = key.split(AMOUNT);
  if (tokens === undefined || microUsd === undefined) return undefined;
  return { tokens: Number.parseInt(tokens, 10), microUsd: Number.parseInt(microUsd, 10) };
}

export function exceeds(one: SpendingAmount, other: SpendingAmount): boolean {
  return one.tokens > other.tokens || one.microUsd > other.microUsd;
}

/** The usage of one call that a shared hold pays. */
export function partUsage({ tokens, microUsd }: Usage, amount: SpendingAmount): SharedUsage {
  const isEstimated = tokens === null || (microUsd === null && amount.microUsd > 0);
  return { tokens: tokens ?? amount.tokens, microUsd: microUsd ?? amount.microUsd, isEstimated };
}

export function addUsage(one: SharedUsage, other: SharedUsage): SharedUsage {
  const isEstimated = one.isEstimated || other.isEstimated;
  return { tokens: one.tokens + other.tokens, microUsd: one.microUsd + other.microUsd, isEstimated };
}

/** Adds up the charges of recorded replies, by the key of the hold. */
export function recordedUsage(charges: readonly Charge[]): Map<string, RecordedUsage> {
  const usages = new Map<string, RecordedUsage>();
  const shared = new Map<string, SharedUsage>();
  for (const { key, ...usage } of charges) {
    const [hold = key, part] = key.split(PART);
    const amount = part === undefined ? undefined : amountIn(part);
    if (!amount) {
      usages.set(key, { ...usage, isShared: false });
      continue;
    }
    const known = shared.get(hold);
    const used = partUsage(usage, amount);
    shared.set(hold, known ? addUsage(known, used) : used);
  }
  for (const [hold, usage] of shared) usages.set(hold, { ...usage, isShared: true });
  return usages;
}
