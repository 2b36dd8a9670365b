import { type ModelUsage, ProviderError, type ProviderErrorCode } from '#rollcall/providers';

/** These errors occur before a request is sent. */
const BEFORE_SENDING: ReadonlySet<ProviderErrorCode> = new Set(['EGRESS_DENIED', 'MODEL_KEY_MISSING']);

/** Whether the vendor cannot have received the request. */
export function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof ProviderError)) return false;
  return BEFORE_SENDING.has(error.code) || (error.code === 'MODEL_KEY_REFUSED' && error.status === undefined);
}

/** The known usage of a failed call. Without it, the vendor may bill the call, so its usage is unknown and not zero. */
export function usageOfFailure(error: unknown): ModelUsage {
  return (error instanceof ProviderError ? error.usage : undefined) ?? {};
}
