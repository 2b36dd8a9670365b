import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { WebhookAnswer, WebhookRequest, WebhookTransport } from '#rollcall/platform';
import { EgressClient, EgressPolicy, SHORT_CALL_LIMITS, readRetryAfter } from '#rollcall/providers';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { VERSION } from '../version.js';

const MAX_RESPONSE_BYTES = 64 << 10;
const USER_AGENT = { 'user-agent': `rollcall/${VERSION}` };

/** Sends the deliveries of all webhooks with one guarded client. */
@Injectable()
export class EgressTransport implements WebhookTransport, OnApplicationShutdown {
  private readonly client: EgressClient;

  constructor(policy: EgressPolicy, @Inject(CONFIG) { webhooks: { timeout } }: Config) {
    const limits = {
      ...SHORT_CALL_LIMITS,
      headersMs: timeout,
      idleMs: timeout,
      totalMs: timeout,
      bytes: MAX_RESPONSE_BYTES,
    };
    this.client = new EgressClient({ policy, limits });
  }

  async post({ url, headers, body, signal }: WebhookRequest): Promise<WebhookAnswer> {
    const init = { method: 'POST', headers: { ...USER_AGENT, ...headers }, body, signal };
    const response = await this.client.fetch(url, init);
    await response.arrayBuffer().catch(() => undefined); // only the status matters; reading the body frees the connection
    return { status: response.status, retryAfterMs: readRetryAfter(Object.fromEntries(response.headers)) };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close();
  }
}
