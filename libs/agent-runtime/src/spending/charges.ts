import type { ModelUsage } from '#rollcall/providers';
import type { Awaitable, Charge, ChargeTime, Hold } from './spending.js';

const UNKNOWN = { tokens: null, microUsd: null };

export type PricedUsage = ModelUsage & { readonly costMicroUsd?: number };

/** Divides the usage so that the holds together are charged with exactly this usage. The last hold is charged with the rest. */
export function chargesOf(holds: readonly Hold[], usage: PricedUsage): Charge[] {
  let tokensLeft = tokensOf(usage);
  let costLeft = usage.costMicroUsd ?? null;
  return holds.map(({ key, amount }, index) => {
    const isLast = index === holds.length - 1;
    const tokens = tokensLeft === null || isLast ? tokensLeft : Math.min(tokensLeft, amount.tokens);
    const microUsd = costLeft === null || isLast ? costLeft : Math.min(costLeft, amount.microUsd);
    tokensLeft = tokensLeft === null || tokens === null ? null : tokensLeft - tokens;
    costLeft = costLeft === null || microUsd === null ? null : costLeft - microUsd;
    return { key, tokens, microUsd };
  });
}

/** The sum of input and output, or null if one of them is unknown. */
export function tokensOf({ inputTokens, outputTokens }: ModelUsage): number | null {
  return inputTokens === undefined || outputTokens === undefined ? null : inputTokens + outputTokens;
}

/** Settles each hold with its charge. */
export function settleAll(
  holds: readonly Hold[],
  charges: readonly Charge[],
  when: ChargeTime = 'now',
): Awaitable<void> {
  return all(holds.map((hold, index) => hold.settle(usageIn(charges[index]), when)));
}

export function releaseAll(holds: readonly Hold[]): Awaitable<void> {
  return all(holds.map((hold) => hold.release()));
}

function all(ended: readonly Awaitable<void>[]): Awaitable<void> {
  const waiting = ended.filter((one) => one instanceof Promise);
  return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => undefined);
}

/** The usage that leads to this charge. */
export function usageIn({ tokens, microUsd }: Omit<Charge, 'key'> = UNKNOWN): PricedUsage {
  const outputTokens = tokens === null ? undefined : 0;
  return { inputTokens: tokens ?? undefined, outputTokens, costMicroUsd: microUsd ?? undefined };
}
