import { A2AError } from '@a2a-js/sdk/errors';
import { ProviderError, type ProviderErrorCode, reasonOf } from '../../errors.js';
import { agentErrorOf, agentErrorOfStatus, unreachable } from '../agent.errors.js';

/** A2A errors that mean that the request was rejected. They say nothing about the health of the agent. */
const REJECTIONS = new Set([
  'TASK_NOT_FOUND',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'EXTENSION_SUPPORT_REQUIRED',
  'INVALID_PARAMS',
]);
const PROTOCOL_MISMATCHES = new Set(['VERSION_NOT_SUPPORTED', 'INVALID_AGENT_RESPONSE']);
const MAX_REASON_LENGTH = 300;
/** Statuses of a proxy, an authentication check or a rate limit. They are treated as HTTP errors, even if the body is a JSON-RPC error. */
const HTTP_ERROR_STATUSES = new Set([401, 403, 408, 425, 429, 502, 503, 504, 529]);

interface ErrorContext {
  label: string;
  /** Removes the key from texts of the agent. */
  redact(text: string): string;
}

/** Converts an error of the SDK to a ProviderError without the key. */
export function toA2aError(error: unknown, { label, redact }: ErrorContext): ProviderError {
  const explained = unreachable(error, label);
  if (explained instanceof ProviderError) return explained;
  const reason = redact(reasonOf(error)).slice(0, MAX_REASON_LENGTH);
  const protocol = protocolError(error);
  if (!protocol) return new ProviderError('AGENT_ANSWER_UNREADABLE', `${label} sent an invalid A2A answer: ${reason}`);
  const { statusCode } = protocol as { statusCode?: number };
  const code = codeOf(protocol);
  if (code === 'AGENT_FAILED' && statusCode && statusCode >= 400)
    return agentErrorOfStatus(statusCode, `${label} failed: ${reason}`);
  return new ProviderError(
    code,
    `${label} ${code === 'AGENT_REQUEST_REFUSED' ? 'rejected the request' : 'failed'}: ${reason}`,
  );
}

function codeOf({ reason }: A2AError): ProviderErrorCode {
  if (REJECTIONS.has(reason)) return 'AGENT_REQUEST_REFUSED';
  return PROTOCOL_MISMATCHES.has(reason) ? 'AGENT_ANSWER_UNREADABLE' : 'AGENT_FAILED';
}

/** Returns the A2A error that the agent sent, if there is one. */
function protocolError(error: unknown): A2AError | undefined {
  for (let at = error; at; at = (at as { cause?: unknown }).cause) if (at instanceof A2AError) return at;
  return undefined;
}

/** Throws a ProviderError for an HTTP error, because the SDK keeps the status only as part of a message. */
export function strictFetch(inner: typeof fetch, label: string): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const isProtocol = (response.headers.get('content-type') ?? '').includes('json');
    const { status } = response;
    if (status < 400 || (isProtocol && !HTTP_ERROR_STATUSES.has(status))) return response;
    await response.body?.cancel();
    throw agentErrorOf(response, label);
  };
}

/** Throws a ProviderError for every status that is not a success. */
export function cardFetch(inner: typeof fetch, label: string): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    if (response.ok) return response;
    await response.body?.cancel();
    throw agentErrorOf(response, `The card of ${label}`);
  };
}
