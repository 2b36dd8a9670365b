import type { ProviderErrorCode } from '../errors.js';

/** What a vendor means by a status of 400 and above. */
export function codeOfStatus(status: number): ProviderErrorCode {
  if (status === 401 || status === 403) return 'MODEL_KEY_REFUSED';
  if (status === 402) return 'MODEL_QUOTA_EXHAUSTED';
  if (status === 429) return 'MODEL_RATE_LIMITED';
  if (status === 503 || status === 529) return 'MODEL_OVERLOADED';
  return status >= 500 || status === 408 ? 'MODEL_UNAVAILABLE' : 'MODEL_REQUEST_REFUSED';
}
