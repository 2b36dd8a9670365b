import { ProviderError, type ProviderErrorCode, type ProviderErrorFacts } from '../errors.js';
import { readRetryAfter } from '../retry-after.js';

/** What an agent's endpoint means by a status that is no success. The body is not repeated: it may quote the key. */
export function agentErrorOf(response: Response, label: string): ProviderError {
  const retryAfterMs = readRetryAfter(Object.fromEntries(response.headers));
  return agentErrorOfStatus(response.status, `${label} answered with status ${response.status}.`, { retryAfterMs });
}

export function agentErrorOfStatus(status: number, message: string, facts: ProviderErrorFacts = {}): ProviderError {
  const gone = GONE.has(status);
  const code = gone ? 'AGENT_UNREACHABLE' : codeOf(status);
  return new ProviderError(code, message, { ...facts, status, ...(gone && { retryable: false }) });
}

/** There is no agent at this address, or none any more: its own fault, and no better at the next attempt. */
const GONE = new Set([404, 405, 410]);

function codeOf(status: number): ProviderErrorCode {
  if (status < 400) return 'AGENT_ANSWER_UNREADABLE';
  if (status === 401 || status === 403) return 'AGENT_CREDENTIAL_REFUSED';
  if (status === 429) return 'AGENT_RATE_LIMITED';
  if (status === 408 || status === 425 || status === 529) return 'AGENT_UNREACHABLE';
  if (status >= 502 && status <= 504) return 'AGENT_UNREACHABLE';
  return status >= 500 ? 'AGENT_FAILED' : 'AGENT_REQUEST_REFUSED';
}

/** A connection that could not be made, or broke, says that the agent cannot be reached; anything else stays as it is. */
export function unreachable(error: unknown, label: string): unknown {
  const own = findOwn(error);
  if (own?.code !== 'EGRESS_UNREACHABLE' && own?.code !== 'EGRESS_TIMED_OUT') return own ?? error;
  return new ProviderError('AGENT_UNREACHABLE', `${label} does not answer: ${own.message}`, { cause: own });
}

/** Ours, however deep a library has wrapped it. */
function findOwn(error: unknown): ProviderError | undefined {
  for (let at = error; at; at = (at as { cause?: unknown }).cause) if (at instanceof ProviderError) return at;
  return undefined;
}
