import type { Secret } from '../secret.js';
import type { ModelProvider } from './model.provider.js';

/** Where and as whom to reach a model. */
export interface ModelConnection {
  model: string;
  baseUrl?: string;
  key?: Secret;
  /** All HTTP of a vendor goes through this one, which is guarded. */
  fetch: typeof fetch;
}

/** One way of speaking to models. A new vendor is one of these and one registration. */
export interface ModelVendor {
  readonly name: string;
  /** Whether a call without a key cannot succeed. */
  readonly needsKey: boolean;
  /** Whether it has no address of its own. */
  readonly needsAddress?: boolean;
  /** What it is, for people who look for one. */
  readonly about?: string;
  open(connection: ModelConnection): ModelProvider;
}
