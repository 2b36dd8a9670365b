import { Inject, Injectable } from '@nestjs/common';
import { QuotaExceededError } from '../quota.js';
import { WEBHOOK_OPTIONS, type WebhookOptions } from './webhook.options.js';
import { WebhookStore } from './webhook.store.js';

/** Limits the number of webhooks of one credential. */
@Injectable()
export class WebhookQuota {
  constructor(
    private readonly store: WebhookStore,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {}

  /**
   * Must be called in the transaction that creates the webhook. It locks the credential until the transaction ends, so the
   * webhooks of one credential are created one after the other, and the quota is exact.
   */
  async check(createdBy: string): Promise<void> {
    const { quota } = this.options;
    if (quota.limit === 0) return;
    await this.store.lockCreator(createdBy);
    const created = await this.store.countOf(createdBy);
    if (created >= quota.limit) throw new QuotaExceededError(quota, 'webhooks');
  }
}
