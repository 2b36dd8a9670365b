import { QuotaExceededError, type Quota } from '#rollcall/platform';
import type { ContractStore } from './contract.store.js';

/** A principal that is further than this from its limit announces without a lock, so its announcements do not wait for each other. */
const MARGIN = 100;

/** Limits how many open contracts one principal has. */
export class ContractQuota {
  constructor(
    private readonly store: ContractStore,
    private readonly quota: Quota,
  ) {}

  /** Must be called in the transaction that adds the contract: near the limit, it takes a lock that lasts until the transaction ends. */
  async check(by: string): Promise<void> {
    const { limit } = this.quota;
    if (limit === 0 || (await this.store.countOpenOf(by)) < limit - MARGIN) return;
    await this.store.lockOwner(by);
    if ((await this.store.countOpenOf(by)) >= limit) throw new QuotaExceededError(this.quota, 'open contracts');
  }
}
