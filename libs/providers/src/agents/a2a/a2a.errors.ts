import { A2AError } from '@a2a-js/sdk/errors';
import { ProviderError, reasonOf, type ProviderErrorCode } from '../../errors.js';
import { agentErrorOf, agentErrorOfStatus, unreachable } from '../agent.status.js';

/** What our request was refused for; it says nothing about the agent's health. */
const REFUSALS = new Set([
  'TASK_NOT_FOUND',
  'CONTENT_TYPE_NOT_SUPPORTED',
  'UNSUPPORTED_OPERATION',
  'EXTENSION_SUPPORT_REQUIRED',
  'INVALID_PARAMS',
]);
const MISFITS = new Set(['VERSION_NOT_SUPPORTED', 'INVALID_AGENT_RESPONSE']);
const LONGEST_REASON = 300;
/** Statuses that are told by HTTP itself, whatever the body says: of a gateway, of a guard, of a limit. */
const OF_HTTP = new Set([401, 403, 408, 425, 429, 502, 503, 504, 529]);

interface Facts {
  label: string;
  /** Takes the key out of what the other side said. */
  hide(text: string): string;
}

/** Whatever the SDK throws, as one of ours and without the key. */
export function toA2aError(error: unknown, { label, hide }: Facts): ProviderError {
  const explained = unreachable(error, label);
  if (explained instanceof ProviderError) return explained;
  const said = hide(reasonOf(error)).slice(0, LONGEST_REASON);
  const own = protocolError(error);
  if (!own) return new ProviderError('AGENT_ANSWER_UNREADABLE', `${label} does not speak A2A as expected: ${said}`);
  const { statusCode } = own as { statusCode?: number };
  const code = codeOf(own);
  if (code === 'AGENT_FAILED' && statusCode && statusCode >= 400)
    return agentErrorOfStatus(statusCode, `${label} failed: ${said}`);
  return new ProviderError(code, `${label} ${code === 'AGENT_REQUEST_REFUSED' ? 'refused' : 'failed'}: ${said}`);
}

function codeOf({ reason }: A2AError): ProviderErrorCode {
  if (REFUSALS.has(reason)) return 'AGENT_REQUEST_REFUSED';
  return MISFITS.has(reason) ? 'AGENT_ANSWER_UNREADABLE' : 'AGENT_FAILED';
}

/** An error of the protocol itself, sent by the other side. */
function protocolError(error: unknown): A2AError | undefined {
  for (let at = error; at; at = (at as { cause?: unknown }).cause) if (at instanceof A2AError) return at;
  return undefined;
}

/** Statuses become our errors here, where their number is still known; the SDK would put them into a sentence. */
export function strictFetch(inner: typeof fetch, label: string): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    const isProtocol = (response.headers.get('content-type') ?? '').includes('json');
    const { status } = response;
    if (status < 400 || (isProtocol && !OF_HTTP.has(status))) return response;
    await response.body?.cancel();
    throw agentErrorOf(response, label);
  };
}

/** A card is there or it is not: every status but success is an error. */
export function cardFetch(inner: typeof fetch, label: string): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init);
    if (response.ok) return response;
    await response.body?.cancel();
    throw agentErrorOf(response, `The card of ${label}`);
  };
}
