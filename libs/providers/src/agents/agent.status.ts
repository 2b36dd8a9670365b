import { ProviderError, type ProviderErrorCode } from '../errors.js';
import { readRetryAfter } from '../retry-after.js';

/** What an agent's endpoint means by a status of 400 and above. The body is not repeated: it may quote the key. */
export function agentErrorOf(response: Response, label: string): ProviderError {
  const { status } = response;
  const retryAfterMs = readRetryAfter(Object.fromEntries(response.headers));
  return new ProviderError(codeOf(status), `${label} answered with status ${status}.`, { status, retryAfterMs });
}

function codeOf(status: number): ProviderErrorCode {
  if (status === 401 || status === 403) return 'AGENT_CREDENTIAL_REFUSED';
  if (status === 429) return 'AGENT_RATE_LIMITED';
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
