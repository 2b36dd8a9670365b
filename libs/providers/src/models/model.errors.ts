import type { ProviderErrorCode } from '../errors.js';
import type { ModelUsage } from './usage.js';

/** Returns the code for an HTTP status of 400 or above. */
export function codeOfStatus(status: number): ProviderErrorCode {
  if (status === 401 || status === 403) return 'MODEL_KEY_REFUSED';
  if (status === 402) return 'MODEL_QUOTA_EXHAUSTED';
  if (status === 429) return 'MODEL_RATE_LIMITED';
  if (status === 503 || status === 529) return 'MODEL_OVERLOADED';
  return status >= 500 || status === 408 ? 'MODEL_UNAVAILABLE' : 'MODEL_REQUEST_REFUSED';
}

/**
 * Returns the usage of a call that the vendor answered with this HTTP status instead of a reply. A vendor that rejects a request does
 * not process it, so nothing was used. After an internal error or a timeout of the vendor, the usage is unknown.
 */
export function usageOfStatus(status: number): ModelUsage | undefined {
  const isRejected = (status >= 400 && status < 500 && status !== 408) || status === 503 || status === 529;
  return isRejected ? { inputTokens: 0, outputTokens: 0 } : undefined;
}
