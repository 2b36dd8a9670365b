import { Module } from '@nestjs/common';
import {
  WEBHOOK_OPTIONS,
  type WebhookOptions,
  WebhookSecrets,
  WebhookSinks,
  WebhooksService,
  WebhookStore,
  WebhookTransport,
} from '#rollcall/platform';
import { quotaSetting } from '../config/access.settings.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { SecretsService } from '../secrets/secrets.service.js';
import { DeliveriesController } from './deliveries.controller.js';
import { EgressTransport } from './egress.transport.js';
import { WebhooksController } from './webhooks.controller.js';

@Module({
  controllers: [WebhooksController, DeliveriesController],
  providers: [
    { provide: WEBHOOK_OPTIONS, inject: [CONFIG], useFactory: webhookOptions },
    SecretsService,
    { provide: WebhookSecrets, useExisting: SecretsService },
    { provide: WebhookTransport, useClass: EgressTransport },
    WebhookStore,
    WebhooksService,
    WebhookSinks,
  ],
  exports: [WebhookSinks, WEBHOOK_OPTIONS, SecretsService, WebhookSecrets, WebhookTransport],
})
export class WebhooksModule {}

function webhookOptions({ webhooks, quotas }: Config): WebhookOptions {
  const { tries, retryFirst, retryLongest } = webhooks;
  return {
    quota: { limit: quotas.webhooks, setting: quotaSetting('webhooks') },
    retries: { maxAttempts: tries, firstDelayMs: retryFirst, maxDelayMs: retryLongest },
    now: Date.now,
  };
}
