import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';
import { SinksService, type SinkStatus } from '../sinks/sinks.service.js';
import { WebhookNotFoundError } from './webhook.errors.js';
import { WebhookQuota } from './webhook.quota.js';
import { type SigningSecret, WebhookSecrets } from './webhook.secrets.js';
import { newWebhookSecret } from './webhook.signature.js';
import { type WebhookFields, type WebhookRow, WebhookStore } from './webhook.store.js';

export interface Webhook {
  row: WebhookRow;
  status: SinkStatus;
}

export interface IssuedWebhook extends Webhook {
  /** The secret is returned only once. */
  secret: SigningSecret;
}

export interface NewWebhook {
  /** The caller has checked that the url may be called. */
  fields: WebhookFields;
  paused: boolean;
  /** Delivery starts after this sequence number, or with the next event if absent. */
  after?: number;
  createdBy: string;
}

export const WEBHOOK_KIND = 'webhook';

/** Manages webhooks. The sink with the same id delivers the events. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly db: Database,
    private readonly store: WebhookStore,
    private readonly sinks: SinksService,
    private readonly secrets: WebhookSecrets,
    private readonly quota: WebhookQuota,
  ) {}

  async create({ fields, paused, after, createdBy }: NewWebhook): Promise<IssuedWebhook> {
    const id = `wh_${randomBytes(12).toString('hex')}`;
    const secret = newWebhookSecret();
    return await this.db.transaction(async () => {
      await this.quota.check(createdBy);
      await this.store.insert(id, fields, this.secrets.seal(secret, id), createdBy);
      await this.sinks.add(id, WEBHOOK_KIND, { after, paused });
      return { ...(await this.get(id)), secret };
    });
  }

  async list(limit: number, before: string | undefined): Promise<Webhook[]> {
    const rows = await this.store.page(limit, before);
    const statuses = new Map((await this.sinks.list(rows.map(({ id }) => id))).map((one) => [one.id, one]));
    return rows.flatMap((row) => {
      const status = statuses.get(row.id);
      return status ? [{ row, status }] : [];
    });
  }

  async get(id: string): Promise<Webhook> {
    const row = await this.store.find(id);
    if (!row) throw new WebhookNotFoundError(id);
    return { row, status: await this.sinks.get(id) };
  }

  async update(id: string, changes: Partial<WebhookFields>, paused: boolean | undefined): Promise<Webhook> {
    return await this.db.transaction(async () => {
      if (!(await this.store.update(id, changes))) throw new WebhookNotFoundError(id);
      if (paused === undefined) await this.sinks.reload(id);
      else await this.sinks.pause(id, paused);
      return await this.get(id);
    });
  }

  /** Issues a new secret. Deliveries are signed with both secrets until the overlap ends. */
  async rotate(id: string, overlapMs: number): Promise<IssuedWebhook> {
    const secret = newWebhookSecret();
    return await this.db.transaction(async () => {
      if (!(await this.store.rotate(id, this.secrets.seal(secret, id), overlapMs))) throw new WebhookNotFoundError(id);
      await this.sinks.reload(id);
      return { ...(await this.get(id)), secret };
    });
  }

  async remove(id: string): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.store.delete(id))) throw new WebhookNotFoundError(id);
      await this.sinks.remove(id);
    });
  }

  /** Sends all parked events again, or all events after a sequence number. */
  async replay(id: string, after: number | undefined): Promise<Webhook> {
    return await this.db.transaction(async () => {
      if (!(await this.store.find(id))) throw new WebhookNotFoundError(id);
      if (after === undefined) await this.sinks.replayParked(id);
      else await this.sinks.replayAfter(id, after);
      return await this.get(id);
    });
  }
}
