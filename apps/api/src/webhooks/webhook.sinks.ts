import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { EventFilter, EventSink, RetryPolicy } from '#rollcall/platform';
import { EgressClient, EgressPolicy, QUICK_LIMITS } from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { EVENTS } from '../events/event.catalog.js';
import { SecretsService } from '../secrets/secrets.service.js';
import { type SigningRow, WebhookStore } from './webhook.store.js';
import { WebhookSink } from './webhook.sink.js';

const LARGEST_ANSWER = 64 << 10;

/** Makes the sinks of webhooks, all on one guarded client. */
@Injectable()
export class WebhookSinks implements OnApplicationShutdown {
  private readonly client: EgressClient;
  private readonly retries: RetryPolicy;

  constructor(
    private readonly store: WebhookStore,
    private readonly secrets: SecretsService,
    policy: EgressPolicy,
    @Inject(CONFIG) { webhooks }: Config,
  ) {
    const { timeout, tries, retryFirst, retryLongest } = webhooks;
    const limits = { ...QUICK_LIMITS, headersMs: timeout, idleMs: timeout, totalMs: timeout, bytes: LARGEST_ANSWER };
    this.client = new EgressClient({ policy, limits });
    this.retries = { mostTries: tries, firstMs: retryFirst, longestMs: retryLongest };
  }

  async make(id: string): Promise<EventSink | undefined> {
    const row = await this.store.findForSigning(id);
    return row && new WebhookSink(this.targetOf(row), this.client, this.retries);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close();
  }

  private targetOf(row: SigningRow): ConstructorParameters<typeof WebhookSink>[0] {
    const { id, url, secret, oldSecret, oldSecretUntil } = row;
    const current = this.secrets.open(secret, id);
    const old = oldSecret && this.secrets.open(oldSecret, id);
    const secrets = () => (old && oldSecretUntil && oldSecretUntil.getTime() > Date.now() ? [current, old] : [current]);
    return { url, secrets, matches: EVENTS.matcherOf(filterOf(row)) };
  }
}

function filterOf({ types, agentIds, capabilities }: SigningRow): EventFilter {
  return { types: types ?? undefined, agentIds: agentIds ?? undefined, capabilities: capabilities ?? undefined };
}
