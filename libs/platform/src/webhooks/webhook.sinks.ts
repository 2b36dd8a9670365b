import { Inject, Injectable } from '@nestjs/common';
import { EventCatalog, type EventFilter } from '../events/event.catalog.js';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import type { EventSink } from '../sinks/event.sink.js';
import { WEBHOOK_OPTIONS, type WebhookOptions } from './webhook.options.js';
import { WebhookSecrets } from './webhook.secrets.js';
import { WebhookSink, type WebhookTarget } from './webhook.sink.js';
import { type SigningRow, WebhookStore } from './webhook.store.js';
import { WebhookTransport } from './webhook.transport.js';

/** Creates the sinks of webhooks. */
@Injectable()
export class WebhookSinks {
  constructor(
    private readonly store: WebhookStore,
    private readonly secrets: WebhookSecrets,
    private readonly transport: WebhookTransport,
    private readonly catalog: EventCatalog,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {}

  /** Returns undefined if the webhook was deleted. */
  async create(id: string): Promise<EventSink | undefined> {
    const row = await this.store.findForSigning(id);
    return row && new WebhookSink(this.targetOf(row), this.transport, this.options);
  }

  private targetOf(row: SigningRow): WebhookTarget {
    const { id, url, namespace, secret, oldSecret, oldSecretUntil } = row;
    const current = this.secrets.open(secret, id);
    const old = oldSecret && this.secrets.open(oldSecret, id);
    const oldUntil = oldSecretUntil?.getTime() ?? 0;
    const secretsAt: WebhookTarget['secretsAt'] = (now) => (old && oldUntil > now ? [current, old] : [current]);
    return { url, namespace, secretsAt, matches: this.catalog.matcherOf(filterOf(row)) };
  }
}

function filterOf({ namespace, types, agentIds, capabilities }: SigningRow): EventFilter {
  return {
    types: types ?? undefined,
    agentIds: agentIds ?? undefined,
    capabilities: capabilities ?? undefined,
    namespaces: namespace === ALL_NAMESPACES ? undefined : [namespace],
  };
}
