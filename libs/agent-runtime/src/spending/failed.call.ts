import { type ModelUsage, ProviderError, type ProviderErrorCode } from '#rollcall/providers';
import { TaskUnchargedError } from '../tasks/task.errors.js';

/** These errors occur before a request is sent. */
const BEFORE_SENDING: ReadonlySet<ProviderErrorCode> = new Set(['EGRESS_DENIED', 'MODEL_KEY_MISSING']);

/** With these errors, there was no connection on which a request could have been sent. */
const NOT_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether the vendor cannot have received the request. */
export function wasNeverSent(error: unknown): boolean {
  if (!(error instanceof ProviderError)) return false;
  if (error instanceof TaskUnchargedError) return true;
  if (neverConnected(error)) return true;
  return BEFORE_SENDING.has(error.code) || (error.code === 'MODEL_KEY_REFUSED' && error.status === undefined);
}

/** Whether an error in the chain of causes says that there was no connection. */
function neverConnected(error: unknown): boolean {
  for (let at = error as { cause?: unknown; code?: unknown } | undefined; at; at = at.cause as typeof at)
    if (NOT_CONNECTED.has(at.code)) return true;
  return false;
}

/** The known usage of a failed call. If the error contains none, the vendor may still bill the call, so the usage is unknown, not zero. */
export function usageOfFailure(error: unknown): ModelUsage {
  return (error instanceof ProviderError ? error.usage : undefined) ?? {};
}
