import type { Hold, SpendingAmount } from './spending.js';

const NOTHING: SpendingAmount = { tokens: 0, microUsd: 0 };

/**
 * The amount that is held for the final call of a run. It consists of several holds, because it grows with the conversation. Each
 * hold ends once: with the settlement of the final call, or with the end of the run.
 */
export class FinalFund {
  private holds: Hold[] = [];

  private total = NOTHING;

  get amount(): SpendingAmount {
    return this.total;
  }

  add(hold: Hold): void {
    const { tokens, microUsd } = this.total;
    this.holds.push(hold);
    this.total = { tokens: tokens + hold.amount.tokens, microUsd: microUsd + hold.amount.microUsd };
  }

  /** Hands over all holds as one. The fund is empty afterwards. */
  take(): Hold {
    const [taken, amount] = [this.holds, this.total];
    this.holds = [];
    this.total = NOTHING;
    return {
      amount,
      settle: async (usage) => await settleAll(taken, usage),
      release: async () => void (await Promise.all(taken.map(async (hold) => await hold.release()))),
    };
  }
}

type SettledUsage = Parameters<Hold['settle']>[0];

/** Divides the usage so that the holds together are charged with exactly this usage. The last one is charged with the rest. */
async function settleAll(holds: readonly Hold[], usage: SettledUsage): Promise<void> {
  const { inputTokens, outputTokens, costMicroUsd } = usage;
  const isKnown = inputTokens !== undefined && outputTokens !== undefined;
  let tokensLeft = isKnown ? inputTokens + outputTokens : 0;
  let costLeft = costMicroUsd ?? 0;
  const settled = holds.map(async (hold, index) => {
    if (holds.length === 1) return await hold.settle(usage);
    const isLast = index === holds.length - 1;
    const tokens = isLast ? tokensLeft : Math.min(tokensLeft, hold.amount.tokens);
    const cost = isLast ? costLeft : Math.min(costLeft, hold.amount.microUsd);
    tokensLeft -= tokens;
    costLeft -= cost;
    await hold.settle({
      ...(isKnown && { inputTokens: tokens, outputTokens: 0 }),
      ...(costMicroUsd !== undefined && { costMicroUsd: cost }),
    });
  });
  await Promise.all(settled);
}
