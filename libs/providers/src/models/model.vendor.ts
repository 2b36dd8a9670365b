import type { ProviderErrorCode } from '../errors.js';
import type { Secret } from '../secrets/secret.js';
import type { ModelProvider, ModelUsage } from './model.provider.js';

/** How to reach a model. */
export interface ModelConnection {
  model: string;
  baseUrl?: string;
  key?: Secret;
  /** The `fetch` of the egress client. The vendor must use it for all requests. */
  fetch: typeof fetch;
}

/** The API of one model vendor. A new vendor needs one class and one registration. */
export interface ModelVendor {
  readonly name: string;
  /** Whether every call needs a key. */
  readonly needsKey: boolean;
  /** Whether a base URL must be configured, because there is no default. */
  readonly needsBaseUrl?: boolean;
  /** A short description for users. */
  readonly about?: string;
  open(connection: ModelConnection): ModelProvider;
}

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
