import { Inject, Injectable } from '@nestjs/common';
import { type Quota, QuotaExceededError } from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { WebhookStore } from './webhook.store.js';

/** How many webhooks one credential may have. */
@Injectable()
export class WebhookQuota {
  private readonly quota: Quota;

  constructor(
    private readonly store: WebhookStore,
    @Inject(CONFIG) { quotas }: Config,
  ) {
    this.quota = { most: quotas.webhooks, setting: 'ROLLCALL_QUOTA_WEBHOOKS' };
  }

  /**
   * To be called in the transaction that creates the webhook: the lock lasts until it ends, so webhooks of one credential
   * are created one after the other and the quota is exact.
   */
  async check(createdBy: string): Promise<void> {
    if (this.quota.most === 0) return;
    await this.store.lockCreator(createdBy);
    const created = await this.store.countOf(createdBy);
    if (created >= this.quota.most) throw new QuotaExceededError(this.quota, 'webhooks');
  }
}
