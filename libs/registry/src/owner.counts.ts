import { QuotaExceededError, type Quota } from '#rollcall/platform';

/** How many of one thing each owner has while a batch is decided, against the quota of one owner. */
export class OwnerCounts {
  private readonly counts: Map<string, number>;

  /** An owner that is not in `counts` is not limited. `what` completes "This credential already has 100 …". */
  constructor(
    counts: Record<string, number>,
    private readonly quota: Quota,
    private readonly what: string,
  ) {
    this.counts = new Map(Object.entries(counts));
  }

  /** With `replacing`, one that the owner has already and that the new one replaces is not counted. */
  refusalOf(owner: string, replacing = false): QuotaExceededError | undefined {
    const others = (this.counts.get(owner) ?? 0) - (replacing ? 1 : 0);
    const isFull = this.quota.limit > 0 && others >= this.quota.limit;
    return isFull ? new QuotaExceededError(this.quota, this.what) : undefined;
  }

  add(owner: string, change: 1 | -1): void {
    const count = this.counts.get(owner);
    if (count !== undefined) this.counts.set(owner, count + change);
  }
}
