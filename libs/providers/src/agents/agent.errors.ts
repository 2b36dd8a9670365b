import { readRetryAfter } from '../egress/retry-after.js';
import { findProviderError, ProviderError, type ProviderErrorCode, type ProviderErrorOptions } from '../errors.js';

/** Converts an HTTP error of an agent. The message does not contain the body, because it may contain the key. */
export function agentErrorOf(response: Response, label: string): ProviderError {
  const retryAfterMs = readRetryAfter(Object.fromEntries(response.headers));
  return agentErrorOfStatus(response.status, `${label} responded with status ${response.status}.`, { retryAfterMs });
}

export function agentErrorOfStatus(status: number, message: string, options: ProviderErrorOptions = {}): ProviderError {
  const isMissing = NOT_FOUND_STATUSES.has(status);
  const code = isMissing ? 'AGENT_UNREACHABLE' : codeOf(status);
  return new ProviderError(code, message, { ...options, status, ...(isMissing && { retryable: false }) });
}

/** Statuses that mean that there is no agent at this address. A retry does not help. */
const NOT_FOUND_STATUSES = new Set([404, 405, 410]);

function codeOf(status: number): ProviderErrorCode {
  if (status < 400) return 'AGENT_ANSWER_UNREADABLE';
  if (status === 401 || status === 403) return 'AGENT_CREDENTIAL_REFUSED';
  if (status === 429) return 'AGENT_RATE_LIMITED';
  if (status === 408 || status === 425 || status === 529) return 'AGENT_UNREACHABLE';
  if (status >= 502 && status <= 504) return 'AGENT_UNREACHABLE';
  return status >= 500 ? 'AGENT_FAILED' : 'AGENT_REQUEST_REFUSED';
}

/** Converts a connection error to AGENT_UNREACHABLE. Other errors are returned unchanged. */
export function unreachable(error: unknown, label: string): unknown {
  const inner = findProviderError(error);
  if (inner?.code !== 'EGRESS_UNREACHABLE' && inner?.code !== 'EGRESS_TIMED_OUT') return inner ?? error;
  return new ProviderError('AGENT_UNREACHABLE', `${label} does not respond: ${inner.message}`, { cause: inner });
}
