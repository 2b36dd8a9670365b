import { Module } from '@nestjs/common';
import { SecretsService } from '../secrets/secrets.service.js';
import { DeliveriesController } from './deliveries.controller.js';
import { WebhookQuota } from './webhook.quota.js';
import { WebhookSinks } from './webhook.sinks.js';
import { WebhookStore } from './webhook.store.js';
import { WebhooksController } from './webhooks.controller.js';
import { WebhooksService } from './webhooks.service.js';

@Module({
  controllers: [WebhooksController, DeliveriesController],
  providers: [SecretsService, WebhookStore, WebhookQuota, WebhooksService, WebhookSinks],
  exports: [WebhookSinks],
})
export class WebhooksModule {}
