import { randomBytes } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { PlatformError } from '../errors.js';
import { NamespaceAdmission } from '../namespaces/namespace.admission.js';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { isVisible, type VisibleNamespaces } from '../namespaces/namespace.js';
import { Database } from '../postgres/database.js';
import { QuotaExceededError } from '../quota.js';
import { SinksService, type SinkStatus } from '../sinks/sinks.service.js';
import { newWebhookSecret, type SigningSecret, WebhookSecrets } from './webhook.signature.js';
import { WEBHOOK_OPTIONS, type WebhookOptions } from './webhook.sink.js';
import { type WebhookFields, type WebhookRow, WebhookStore } from './webhook.store.js';

export interface Webhook {
  row: WebhookRow;
  status: SinkStatus;
}

export interface IssuedWebhook extends Webhook {
  /** The secret is returned only once. */
  secret: SigningSecret;
}

interface NewWebhook {
  /** The caller has checked that the url may be called. */
  fields: WebhookFields;
  paused: boolean;
  /** Delivery starts after this sequence number, or with the next event if absent. */
  after?: number;
  createdBy: string;
  /** The webhook receives the events of this namespace; `*` for all events. */
  namespace: string;
}

/** Absent fields are not changed. */
type WebhookChanges = Partial<WebhookFields> & { paused?: boolean };

export const WEBHOOK_KIND = 'webhook';

class WebhookNotFoundError extends PlatformError {
  readonly code = 'WEBHOOK_NOT_FOUND';

  constructor(id: string) {
    super(`There is no webhook "${id}". GET /v1/webhooks lists the webhooks.`);
  }
}

/**
 * Manages webhooks, and limits how many one credential and one namespace may have. The sink with the same id delivers the events. A
 * webhook that the caller may not see does not exist for the caller.
 */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly db: Database,
    private readonly store: WebhookStore,
    private readonly sinks: SinksService,
    private readonly secrets: WebhookSecrets,
    private readonly namespaces: NamespaceAdmission,
    contents: NamespaceContents,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {
    contents.add({ kind: 'webhooks', count: async (namespace) => await store.countIn(namespace) });
  }

  async create({ fields, paused, after, createdBy, namespace }: NewWebhook): Promise<IssuedWebhook> {
    const id = `wh_${randomBytes(12).toString('hex')}`;
    const secret = newWebhookSecret();
    return await this.db.transaction(async () => {
      await this.admit(namespace, createdBy);
      await this.store.insert({ id, namespace, secret: this.secrets.seal(secret, id), createdBy }, fields);
      await this.sinks.add(id, WEBHOOK_KIND, { after, paused });
      return { ...(await this.get(id, [namespace])), secret };
    });
  }

  async list(limit: number, before: string | undefined, visible: VisibleNamespaces): Promise<Webhook[]> {
    const rows = await this.store.page(limit, before, visible);
    const statuses = new Map((await this.sinks.list(rows.map(({ id }) => id))).map((one) => [one.id, one]));
    return rows.flatMap((row) => {
      const status = statuses.get(row.id);
      return status ? [{ row, status }] : [];
    });
  }

  async get(id: string, visible: VisibleNamespaces): Promise<Webhook> {
    return { row: await this.find(id, visible), status: await this.sinks.get(id) };
  }

  async update(id: string, { paused, ...fields }: WebhookChanges, visible: VisibleNamespaces): Promise<Webhook> {
    return await this.db.transaction(async () => {
      await this.find(id, visible);
      if (!(await this.store.update(id, fields))) throw new WebhookNotFoundError(id);
      if (paused === undefined) await this.sinks.reload(id);
      else await this.sinks.pause(id, paused);
      return await this.get(id, visible);
    });
  }

  /** Issues a new secret. Deliveries are signed with both secrets until the overlap ends. */
  async rotate(id: string, overlapMs: number, visible: VisibleNamespaces): Promise<IssuedWebhook> {
    const secret = newWebhookSecret();
    return await this.db.transaction(async () => {
      await this.find(id, visible);
      if (!(await this.store.rotate(id, this.secrets.seal(secret, id), overlapMs))) throw new WebhookNotFoundError(id);
      await this.sinks.reload(id);
      return { ...(await this.get(id, visible)), secret };
    });
  }

  async remove(id: string, visible: VisibleNamespaces): Promise<void> {
    await this.db.transaction(async () => {
      await this.find(id, visible);
      if (!(await this.store.delete(id))) throw new WebhookNotFoundError(id);
      await this.sinks.remove(id);
    });
  }

  /** Sends all parked events again, or all events after a sequence number. */
  async replay(id: string, after: number | undefined, visible: VisibleNamespaces): Promise<Webhook> {
    return await this.db.transaction(async () => {
      await this.find(id, visible);
      if (after === undefined) await this.sinks.replayParked(id);
      else await this.sinks.replayAfter(id, after);
      return await this.get(id, visible);
    });
  }

  /**
   * Enforces the limits of the credential and of the namespace. Must be called in the transaction that creates the webhook. Its locks
   * last until the transaction ends, so the webhooks of one credential are created one after the other, and the limits are exact.
   */
  private async admit(namespace: string, createdBy: string): Promise<void> {
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

  private async find(id: string, visible: VisibleNamespaces): Promise<WebhookRow> {
    const row = await this.store.find(id);
    if (!row || !isVisible(row.namespace, visible)) throw new WebhookNotFoundError(id);
    return row;
  }
}
