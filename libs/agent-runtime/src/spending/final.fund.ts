import type { Hold, SpendingAmount } from './spending.js';

/** The keys of the holds of the fund begin with this prefix. */
export const FINAL_PREFIX = 'final/';
const NOTHING: SpendingAmount = { tokens: 0, microUsd: 0 };

/**
 * The amount that is held for the final call of a run. It consists of several holds, because it grows with the conversation. Each
 * hold ends once: with the settlement of the final call, or with the end of the run.
 */
export class FinalFund {
  private holds: readonly Hold[] = [];
  private total = NOTHING;

  get amount(): SpendingAmount {
    return this.total;
  }

  add(hold: Hold): void {
    const { tokens, microUsd } = this.total;
    this.holds = [...this.holds, hold];
    this.total = { tokens: tokens + hold.amount.tokens, microUsd: microUsd + hold.amount.microUsd };
  }

  /** Hands over all holds. The fund is empty afterwards. */
  take(): readonly Hold[] {
    const taken = this.holds;
    this.holds = [];
    this.total = NOTHING;
    return taken;
  }
}
