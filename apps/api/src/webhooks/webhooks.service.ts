import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, SinksService, type SinkStatus } from '#rollcall/platform';
import { EgressPolicy, normalUrl, type Secret } from '#rollcall/providers';
import { ApiError } from '../http/api.error.js';
import { SecretsService } from '../secrets/secrets.service.js';
import { newWebhookSecret } from './webhook.signature.js';
import { type WebhookFacts, type WebhookRow, WebhookStore } from './webhook.store.js';

export interface Webhook {
  row: WebhookRow;
  status: SinkStatus;
}

export interface IssuedWebhook extends Webhook {
  /** The only time it is seen. */
  secret: Secret;
}

export interface NewWebhook {
  facts: WebhookFacts;
  paused: boolean;
  /** Begins with what happens next, unless told. */
  after?: number;
  by: string;
}

export const WEBHOOK_KIND = 'webhook';

/** Endpoints that events are sent to. Sending is the business of the sink with the same id. */
@Injectable()
export class WebhooksService {
  constructor(
    private readonly db: Database,
    private readonly store: WebhookStore,
    private readonly sinks: SinksService,
    private readonly secrets: SecretsService,
    private readonly egress: EgressPolicy,
  ) {}

  async create({ facts, paused, after, by }: NewWebhook): Promise<IssuedWebhook> {
    const url = normalUrl(this.egress.checkUrl(facts.url));
    const id = `wh_${randomBytes(12).toString('hex')}`;
    const secret = newWebhookSecret();
    return await this.db.transaction(async () => {
      await this.store.insert(id, { ...facts, url }, this.secrets.seal(secret, id), by);
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
    if (!row) throw notFound(id);
    return { row, status: await this.sinks.get(id) };
  }

  async update(id: string, changes: Partial<WebhookFacts>, paused: boolean | undefined): Promise<Webhook> {
    const url = changes.url === undefined ? undefined : normalUrl(this.egress.checkUrl(changes.url));
    return await this.db.transaction(async () => {
      if (!(await this.store.update(id, { ...changes, url }))) throw notFound(id);
      if (paused === undefined) await this.sinks.reload(id);
      else await this.sinks.pause(id, paused);
      return await this.get(id);
    });
  }

  /** A new secret; the old one signs too, until the overlap is over. */
  async rotate(id: string, overlapMs: number): Promise<IssuedWebhook> {
    const secret = newWebhookSecret();
    return await this.db.transaction(async () => {
      if (!(await this.store.rotate(id, this.secrets.seal(secret, id), overlapMs))) throw notFound(id);
      await this.sinks.reload(id);
      return { ...(await this.get(id)), secret };
    });
  }

  async remove(id: string): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.store.delete(id))) throw notFound(id);
      await this.sinks.remove(id);
    });
  }

  /** All that is parked, or everything after a seq. Answers what will be sent. */
  async replay(id: string, after: number | undefined): Promise<Webhook> {
    return await this.db.transaction(async () => {
      if (!(await this.store.find(id))) throw notFound(id);
      if (after === undefined) await this.sinks.replayParked(id);
      else await this.sinks.replayAfter(id, after);
      return await this.get(id);
    });
  }
}

function notFound(id: string): ApiError {
  return new ApiError('WEBHOOK_NOT_FOUND', `There is no webhook "${id}". GET /v1/webhooks lists them.`);
}
