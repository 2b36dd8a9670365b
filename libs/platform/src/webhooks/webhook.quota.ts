import { Inject, Injectable } from '@nestjs/common';
import { QuotaExceededError } from '../quota.js';
import { WEBHOOK_OPTIONS, type WebhookOptions } from './webhook.options.js';
import { WebhookStore } from './webhook.store.js';

/** How many webhooks one credential may have. */
@Injectable()
export class WebhookQuota {
  constructor(
    private readonly store: WebhookStore,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {}

  /**
   * Call it in the transaction that creates the webhook: the lock lasts until that transaction ends, so webhooks of one
   * credential are created one after the other and the quota is exact.
   */
  async check(createdBy: string): Promise<void> {
    const { quota } = this.options;
    if (quota.most === 0) return;
    await this.store.lockCreator(createdBy);
    const created = await this.store.countOf(createdBy);
    if (created >= quota.most) throw new QuotaExceededError(quota, 'webhooks');
  }
}
