import { Inject, Injectable } from '@nestjs/common';
import { NamespaceAdmission } from '../namespaces/namespace.admission.js';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { QuotaExceededError } from '../quota.js';
import { WEBHOOK_OPTIONS, type WebhookOptions } from './webhook.options.js';
import { WebhookStore } from './webhook.store.js';

/** Limits the number of webhooks of one credential and of one namespace. */
@Injectable()
export class WebhookAdmission {
  constructor(
    private readonly store: WebhookStore,
    private readonly namespaces: NamespaceAdmission,
    contents: NamespaceContents,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {
    contents.add({ kind: 'webhooks', count: async (namespace) => await store.countIn(namespace) });
  }

  /**
   * Must be called in the transaction that creates the webhook. Its locks last until the transaction ends, so the
   * webhooks of one credential are created one after the other, and the limits are exact.
   */
  async admit(namespace: string, createdBy: string): Promise<void> {
    await this.checkQuota(createdBy);
    await this.namespaces.admit(namespace, 'webhooks', async () => await this.store.countIn(namespace));
  }

  private async checkQuota(createdBy: string): Promise<void> {
    const { quota } = this.options;
    if (quota.limit === 0) return;
    await this.store.lockCreator(createdBy);
    const created = await this.store.countOf(createdBy);
    if (created >= quota.limit) throw new QuotaExceededError(quota, 'webhooks');
  }
}
