import { APICallError } from '@ai-sdk/provider';
import { ProviderError, reasonOf, type ProviderErrorCode } from '../../errors.js';
import type { Secret } from '../../secret.js';

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
  const code = NO_CREDIT.test(responseBody) ? 'MODEL_QUOTA_EXHAUSTED' : codeOf(status);
  const message = `${facts.label} answered ${status}: ${reason}${ADVICE[code] ?? ''}`;
  return new ProviderError(code, message, { status, retryAfterMs: readRetryAfter(responseHeaders) });
}

const ADVICE: Partial<Record<ProviderErrorCode, string>> = {
  MODEL_KEY_REFUSED: ' Check the key of this preset.',
  MODEL_QUOTA_EXHAUSTED: " The vendor's account is out of credit.",
};

function codeOf(status: number): ProviderErrorCode {
  if (status === 401 || status === 403) return 'MODEL_KEY_REFUSED';
  if (status === 402) return 'MODEL_QUOTA_EXHAUSTED';
  if (status === 429) return 'MODEL_RATE_LIMITED';
  if (status === 503 || status === 529) return 'MODEL_OVERLOADED';
  return status >= 500 || status === 408 ? 'MODEL_UNAVAILABLE' : 'MODEL_REQUEST_REFUSED';
}

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

/** Seconds or a date; a date is read against the answer's own, so that clocks need not agree. */
export function readRetryAfter(headers: Record<string, string>): number | undefined {
  const exact = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (exact >= 0) return exact;
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const wait = Date.parse(text) - Date.parse(headers['date'] ?? '');
  return wait >= 0 ? wait : undefined;
}
