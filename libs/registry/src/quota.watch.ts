import type { Quota } from '#rollcall/platform';

/** So near to a quota every request counts, and those that must be exact wait for each other. */
export const NEAR_QUOTA = 100;
/** This replica uses up at most this share of what is left before it counts again, so that ten replicas stay within it. */
const SHARE = 10;
const MOST_REMEMBERED = 10_000;

/**
 * Decides which requests count what their credential has. Far from its quota a credential is counted once for many
 * requests: the more is left, the more rarely.
 */
export class QuotaWatch {
  private readonly free = new Map<string, number>();

  constructor(private readonly quota: Quota) {}

  /** Whether to count before the credential gets `asked` more; the answer "no" uses up its share. */
  isDue(credential: string, asked = 1): boolean {
    if (this.quota.limit === 0) return false;
    const free = this.free.get(credential) ?? 0;
    if (free < asked) return true;
    this.free.set(credential, free - asked);
    return false;
  }

  noteCount(credential: string, count: number): void {
    if (this.free.size >= MOST_REMEMBERED) this.free.clear(); // each is counted again
    this.free.set(credential, Math.floor((this.quota.limit - NEAR_QUOTA - count) / SHARE));
  }
}
