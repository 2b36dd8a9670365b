import { QuotaExceededError, type Quota } from '#rollcall/platform';

/** How many reservations each owner holds while a batch is decided, against the quota of one owner. */
export class HeldCounts {
  private readonly counts: Map<string, number>;

  /** An owner that is not in `counts` is not limited. */
  constructor(
    counts: Record<string, number>,
    private readonly quota: Quota,
  ) {
    this.counts = new Map(Object.entries(counts));
  }

  refusalOf(owner: string): QuotaExceededError | undefined {
    const held = this.counts.get(owner) ?? 0;
    const isFull = this.quota.most > 0 && held >= this.quota.most;
    return isFull ? new QuotaExceededError(this.quota, 'held reservations') : undefined;
  }

  add(owner: string, change: 1 | -1): void {
    const held = this.counts.get(owner);
    if (held !== undefined) this.counts.set(owner, held + change);
  }
}
