import type { Quota } from '../quota.js';
import type { RetryPolicy } from '../sinks/retry.policy.js';

export interface WebhookOptions {
  /** The number of webhooks that one credential may have. */
  quota: Quota;
  retries: RetryPolicy;
  /** Returns the wall-clock time in milliseconds. Receivers compare the timestamp of a delivery with their own clock. */
  now(): number;
}

/** Injection token of `WebhookOptions`. */
export const WEBHOOK_OPTIONS = Symbol('webhook options');
