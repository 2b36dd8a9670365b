import type { Secret } from '../secret.js';
import type { ModelProvider } from './model.provider.js';

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
