import type { Quota } from '../quota.js';
import type { RetryPolicy } from '../sinks/retry.policy.js';

export interface WebhookOptions {
  /** How many webhooks one credential may have. */
  quota: Quota;
  retries: RetryPolicy;
}

/** Injection token of `WebhookOptions`. */
export const WEBHOOK_OPTIONS = Symbol('webhook options');
