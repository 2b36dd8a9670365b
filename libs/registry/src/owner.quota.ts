import { type Quota, QuotaExceededError } from '#rollcall/platform';

/** If fewer objects than this may still be added, every request counts the objects, under a lock, so that the quota is exact. */
const NEAR_QUOTA = 100;
/** Before a replica counts again, it adds at most one tenth of what is left of the quota, so ten replicas stay within the quota. */
const SHARE = 10;
const MAX_CREDENTIALS = 10_000;

/**
 * Decides which requests count the objects of their credential. Far from the quota, one count serves many requests: the more
 * is left of the quota, the fewer requests count.
 */
export class QuotaWatch {
  private readonly free = new Map<string, number>();

  constructor(private readonly quota: Quota) {}

  /** Whether the caller must count before it adds `added` objects. If not, this subtracts `added` from what is left. */
  mustCount(credential: string, added = 1): boolean {
    if (this.quota.limit === 0) return false;
    const free = this.free.get(credential) ?? 0;
    if (free < added) return true;
    this.free.set(credential, free - added);
    return false;
  }

  noteCount(credential: string, count: number): void {
    if (this.free.size >= MAX_CREDENTIALS) this.free.clear(); // the next request of each credential counts again
    this.free.set(credential, Math.floor((this.quota.limit - NEAR_QUOTA - count) / SHARE));
  }
}

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
