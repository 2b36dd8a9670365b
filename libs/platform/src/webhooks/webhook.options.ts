import type { Quota } from '../quota.js';
import type { RetryPolicy } from '../sinks/retry.policy.js';

export interface WebhookOptions {
  /** How many webhooks one credential may have. */
  quota: Quota;
  retries: RetryPolicy;
  /** Wall-clock time in milliseconds: receivers compare the timestamp of a delivery with their own clock. */
  now(): number;
}

/** Injection token of `WebhookOptions`. */
export const WEBHOOK_OPTIONS = Symbol('webhook options');
