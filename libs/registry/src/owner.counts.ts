import { QuotaExceededError, type Quota } from '#rollcall/platform';

/** Counts the objects of each owner while a batch is decided, and compares the counts with the quota of an owner. */
export class OwnerCounts {
  private readonly counts: Map<string, number>;

  /** Does not limit an owner that is not in `counts`. `what` completes the message "This credential already has 100 …". */
  constructor(
    counts: Record<string, number>,
    private readonly quota: Quota,
    private readonly what: string,
  ) {
    this.counts = new Map(Object.entries(counts));
  }

  /** Returns an error if the owner may not have one more object. With `replacing`, the new object replaces one of its objects. */
  quotaError(owner: string, replacing = false): QuotaExceededError | undefined {
    const others = (this.counts.get(owner) ?? 0) - (replacing ? 1 : 0);
    const isFull = this.quota.limit > 0 && others >= this.quota.limit;
    return isFull ? new QuotaExceededError(this.quota, this.what) : undefined;
  }

  add(owner: string, change: 1 | -1): void {
    const count = this.counts.get(owner);
    if (count !== undefined) this.counts.set(owner, count + change);
  }
}
