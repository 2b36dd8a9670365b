import { PlatformError } from '../errors.js';

export class WebhookNotFoundError extends PlatformError {
  readonly code = 'WEBHOOK_NOT_FOUND';

  constructor(id: string) {
    super(`There is no webhook "${id}". GET /v1/webhooks lists the webhooks.`);
  }
}
