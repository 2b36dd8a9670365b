import { APICallError } from '@ai-sdk/provider';
import { findProviderError, ProviderError, type ProviderErrorCode, reasonOf } from '../../errors.js';
import { readRetryAfter } from '../../retry-after.js';
import type { Secret } from '../../secret.js';
import { codeOfStatus, usageOfStatus } from '../model.errors.js';

const MAX_REASON_LENGTH = 500;
const NO_CREDIT = /insufficient_quota|billing_hard_limit/;

export interface CallContext {
  /** The name of the model, for the message. */
  label: string;
  key?: Secret;
  /** The code for an error without an HTTP status. */
  fallbackCode: ProviderErrorCode;
  /** Whether a part of the answer has arrived, so that tokens were used. */
  hasBegun?: boolean;
}

/** Converts an error of the AI SDK. The result contains neither the request, nor the response, nor the key. */
export function toModelError(error: unknown, context: CallContext): ProviderError {
  const inner = findProviderError(error);
  if (inner) return fromEgress(inner, context);
  const { statusCode: status, responseHeaders = {}, responseBody = '' } = error as Partial<APICallError>;
  const reason = (context.key?.redactIn(reasonOf(error)) ?? reasonOf(error)).slice(0, MAX_REASON_LENGTH);
  if (status === undefined || status < 400) {
    const code = APICallError.isInstance(error) && status === undefined ? 'MODEL_UNAVAILABLE' : context.fallbackCode;
    return new ProviderError(code, `The call to ${context.label} failed: ${reason}`);
  }
  const code = NO_CREDIT.test(responseBody) ? 'MODEL_QUOTA_EXHAUSTED' : codeOfStatus(status);
  const message = `${context.label} responded with ${status}: ${reason}${ADVICE[code] ?? ''}`;
  const usage = context.hasBegun ? undefined : usageOfStatus(status);
  return new ProviderError(code, message, { status, retryAfterMs: readRetryAfter(responseHeaders), usage });
}

const ADVICE: Partial<Record<ProviderErrorCode, string>> = {
  MODEL_KEY_REFUSED: ' Check the key of this preset.',
  MODEL_QUOTA_EXHAUSTED: ' The account at the vendor has no credit left.',
};

function fromEgress(error: ProviderError, { label, fallbackCode }: CallContext): ProviderError {
  if (error.code !== 'EGRESS_UNREACHABLE' && error.code !== 'EGRESS_TIMED_OUT') return error;
  const code = fallbackCode === 'MODEL_STREAM_BROKEN' ? fallbackCode : 'MODEL_UNAVAILABLE';
  return new ProviderError(code, `The call to ${label} failed: ${error.message}`, { cause: error });
}
