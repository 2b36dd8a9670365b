import type { ProviderErrorCode } from '../errors.js';

/** Returns the code for an HTTP status of 400 or above. */
export function codeOfStatus(status: number): ProviderErrorCode {
  if (status === 401 || status === 403) return 'MODEL_KEY_REFUSED';
  if (status === 402) return 'MODEL_QUOTA_EXHAUSTED';
  if (status === 429) return 'MODEL_RATE_LIMITED';
  if (status === 503 || status === 529) return 'MODEL_OVERLOADED';
  return status >= 500 || status === 408 ? 'MODEL_UNAVAILABLE' : 'MODEL_REQUEST_REFUSED';
}
