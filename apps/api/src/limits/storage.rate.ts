import { Global, Inject, Injectable, Module } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Quota } from '#rollcall/platform';
import type { Principal } from '../auth/principal.js';
import { quotaSetting } from '../config/access.settings.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { LongReads } from './long.reads.js';

const KILOBYTE = 1_024;
const MINUTE_MS = 60_000;
const MAX_KEYS = 100_000;
/** What the rows of one stored object need besides its contents. */
const OBJECT_BYTES = KILOBYTE;

export type StoringCaller = Pick<Principal, 'owner' | 'namespace' | 'permissions'>;

/**
 * A quota of kilobytes for each minute. A key may store as long as its balance is positive, and the balance may become negative: the
 * size of an object is often known only afterwards. So a key stores at most one object above its quota.
 */
export class ByteBudget {
  private readonly balances = new LRUCache<string, { bytes: number; at: number }>({ max: MAX_KEYS });
  private readonly capacity: number;

  constructor(
    readonly quota: Quota,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.capacity = quota.limit * KILOBYTE;
  }

  /** Milliseconds until the key may store again; 0 if it may store now. */
  waitMs(key: string): number {
    if (this.capacity === 0) return 0;
    const { bytes } = this.balanceOf(key);
    return bytes > 0 ? 0 : Math.ceil(((1 - bytes) * MINUTE_MS) / this.capacity);
  }

  take(key: string, bytes: number): void {
    if (this.capacity === 0) return;
    this.balanceOf(key).bytes -= bytes;
  }

  private balanceOf(key: string): { bytes: number; at: number } {
    const at = this.now();
    const known = this.balances.get(key) ?? { bytes: this.capacity, at };
    known.bytes = Math.min(this.capacity, known.bytes + ((at - known.at) * this.capacity) / MINUTE_MS);
    known.at = at;
    this.balances.set(key, known);
    return known;
  }
}

/**
 * Limits how much one credential, and all credentials of a namespace, store on this replica in a minute, for objects whose number has no
 * quota because they are kept for a time: runs, messages, contracts with their invitations, budgets of runs, registrations, and the
 * responses that are kept for an Idempotency-Key (S-13).
 */
@Injectable()
export class StorageRate {
  private readonly credentials: ByteBudget;
  private readonly namespaces: ByteBudget;

  constructor(@Inject(CONFIG) { quotas }: Config) {
    const { kilobytesPerMinute, kilobytesPerMinuteOfNamespace } = quotas;
    this.credentials = new ByteBudget({ limit: kilobytesPerMinute, setting: quotaSetting('kilobytesPerMinute') });
    this.namespaces = new ByteBudget({
      limit: kilobytesPerMinuteOfNamespace,
      setting: quotaSetting('kilobytesPerMinuteOfNamespace'),
    });
  }

  /**
   * Counts one object and its contents, and returns their bytes. Throws RATE_LIMITED if the quota of the last minute is used up. `rows` is 0
   * for contents of objects whose number has a quota of its own.
   */
  take(caller: StoringCaller, contents: unknown, rows = 1): number {
    this.check(caller);
    const bytes = rows * OBJECT_BYTES + Buffer.byteLength(JSON.stringify(contents) ?? '');
    this.add(caller, bytes);
    return bytes;
  }

  /** Counts further rows of an object that is counted already. */
  takeMore(caller: StoringCaller, rows: number): void {
    this.add(caller, rows * OBJECT_BYTES);
  }

  /** Counts an object whose caller was checked before its size was known. */
  takeChecked(caller: StoringCaller, contentBytes: number): void {
    this.add(caller, OBJECT_BYTES + contentBytes);
  }

  /** The object was not stored: the request failed, or repeats an earlier one. */
  giveBack(caller: StoringCaller, bytes: number): void {
    this.add(caller, -bytes);
  }

  /** What others of their namespace store does not stop operators. */
  check({ owner, namespace, permissions }: StoringCaller): void {
    reject('credential', this.credentials, owner);
    if (!permissions.includes('agents:operate')) reject('namespace', this.namespaces, namespace);
  }

  private add({ owner, namespace }: StoringCaller, bytes: number): void {
    this.credentials.take(owner, bytes);
    this.namespaces.take(namespace, bytes);
  }
}

function reject(whose: 'credential' | 'namespace', budget: ByteBudget, key: string): void {
  const retryAfterMs = budget.waitMs(key);
  if (retryAfterMs === 0) return;
  const { limit, setting } = budget.quota;
  throw new ApiError(
    'RATE_LIMITED',
    `This ${whose} has stored ${limit} kilobytes in the last minute, which is its quota. Wait, send smaller inputs, or ask the operator to raise ${setting}.`,
    { retryAfterMs, details: { limit, setting } },
  );
}

@Global()
@Module({ providers: [StorageRate, LongReads], exports: [StorageRate, LongReads] })
export class LimitsModule {}
