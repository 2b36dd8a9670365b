import { tokensOf } from './charges.js';
import { addUsage, partKey, partUsage, type SharedUsage } from './hold.key.js';
import type { LedgerHold } from './ledger.hold.js';
import type { Awaitable, ChargeTime, Hold, HoldRequest, SpendingAmount } from './spending.js';

const NOTHING: SharedUsage = { tokens: 0, microUsd: 0, isEstimated: false };

/**
 * One reservation that pays several calls of a run, one after the other. The charges of recorded replies are made together, at the
 * latest when the run ends. After a crash, these charges are known from the stored steps. A charge that no step contains is made at
 * once and closes the reservation, so the next call needs a new reservation.
 */
export class CallAllowance {
  /** Whether it pays a call in progress. */
  private isLent = false;
  private used = NOTHING;
  private charged = NOTHING;

  constructor(
    private readonly hold: LedgerHold,
    private readonly agentId: string | null,
    private readonly onClosed: (allowance: CallAllowance) => void,
  ) {}

  get isInUse(): boolean {
    return this.isLent;
  }

  /** The amount that was used and is not charged yet. */
  get uncharged(): SpendingAmount {
    const { used, charged } = this;
    return { tokens: used.tokens - charged.tokens, microUsd: used.microUsd - charged.microUsd };
  }

  /** Returns undefined if it cannot pay the call. */
  lend({ key, amount, agentId }: Pick<HoldRequest, 'key' | 'amount' | 'agentId'>): Hold | undefined {
    if (this.isLent || agentId !== this.agentId || !this.covers(amount)) return undefined;
    this.isLent = true;
    return new LentPart(partKey(this.hold.key, key, amount), amount, (usage, when) => {
      this.isLent = false;
      if (usage) this.used = addUsage(this.used, usage);
      return usage && when === 'now' ? this.close() : undefined;
    });
  }

  /** Charges what was used so far, so that the budget shows it while the run continues. */
  async chargeUsed(): Promise<void> {
    const { used } = this;
    if (used === this.charged) return;
    await this.hold.charge(used);
    this.charged = used;
  }

  /** Charges what was used, and returns the rest to the budgets. */
  async close(): Promise<void> {
    this.onClosed(this);
    if (this.used === NOTHING) await this.hold.release();
    else await this.hold.settleTotal(this.used);
  }

  private covers({ tokens, microUsd }: SpendingAmount): boolean {
    const { amount } = this.hold;
    return amount.tokens - this.used.tokens >= tokens && amount.microUsd - this.used.microUsd >= microUsd;
  }
}

type OnEnd = (usage: SharedUsage | undefined, when: ChargeTime) => Awaitable<void>;

/** The part of an allowance that pays one call. */
class LentPart implements Hold {
  private isEnded = false;

  constructor(
    readonly key: string,
    readonly amount: SpendingAmount,
    private readonly onEnd: OnEnd,
  ) {}

  settle(usage: Parameters<Hold['settle']>[0], when: ChargeTime = 'now'): Awaitable<void> {
    const used = { tokens: tokensOf(usage), microUsd: usage.costMicroUsd ?? null };
    return this.end(partUsage(used, this.amount), when);
  }

  release(): Awaitable<void> {
    return this.end(undefined, 'now');
  }

  private end(usage: SharedUsage | undefined, when: ChargeTime): Awaitable<void> {
    if (this.isEnded) return undefined;
    this.isEnded = true;
    return this.onEnd(usage, when);
  }
}
