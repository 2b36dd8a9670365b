import { APICallError } from '@ai-sdk/provider';
import { ProviderError, reasonOf, type ProviderErrorCode } from '../../errors.js';
import { readRetryAfter } from '../../retry-after.js';
import type { Secret } from '../../secret.js';
import { codeOfStatus } from '../model.errors.js';

const LONGEST_REASON = 500;
const NO_CREDIT = /insufficient_quota|billing_hard_limit/;

export interface CallFacts {
  /** Whom we called, for the message. */
  label: string;
  key?: Secret;
  /** What it means when the error itself does not say. */
  otherwise: ProviderErrorCode;
}

/** Turns whatever the AI SDK throws into our error, without the request, the response or the key that theirs carry. */
export function toModelError(error: unknown, facts: CallFacts): ProviderError {
  const own = findOwn(error);
  if (own) return fromEgress(own, facts);
  const { statusCode: status, responseHeaders = {}, responseBody = '' } = error as Partial<APICallError>;
  const reason = (facts.key?.hideIn(reasonOf(error)) ?? reasonOf(error)).slice(0, LONGEST_REASON);
  if (status === undefined || status < 400) {
    const code = APICallError.isInstance(error) && status === undefined ? 'MODEL_UNAVAILABLE' : facts.otherwise;
    return new ProviderError(code, `The call to ${facts.label} failed: ${reason}`);
  }
  const code = NO_CREDIT.test(responseBody) ? 'MODEL_QUOTA_EXHAUSTED' : codeOfStatus(status);
  const message = `${facts.label} answered ${status}: ${reason}${ADVICE[code] ?? ''}`;
  return new ProviderError(code, message, { status, retryAfterMs: readRetryAfter(responseHeaders) });
}

const ADVICE: Partial<Record<ProviderErrorCode, string>> = {
  MODEL_KEY_REFUSED: ' Check the key of this preset.',
  MODEL_QUOTA_EXHAUSTED: " The vendor's account is out of credit.",
};

/** Ours, however deep the AI SDK has wrapped it. */
function findOwn(error: unknown): ProviderError | undefined {
  for (let at = error; at; at = (at as { cause?: unknown }).cause) if (at instanceof ProviderError) return at;
  return undefined;
}

function fromEgress(error: ProviderError, { label, otherwise }: CallFacts): ProviderError {
  if (error.code !== 'EGRESS_UNREACHABLE' && error.code !== 'EGRESS_TIMED_OUT') return error;
  const code = otherwise === 'MODEL_STREAM_BROKEN' ? otherwise : 'MODEL_UNAVAILABLE';
  return new ProviderError(code, `The call to ${label} failed: ${error.message}`, { cause: error });
}
