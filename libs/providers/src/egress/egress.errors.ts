import { ProviderError } from '../errors.js';

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

/** Converts an error of undici. The message contains the innermost cause, and nothing of the request. */
export function toEgressError(error: unknown, host: string): ProviderError {
  const deepest = innermost(error);
  if (deepest instanceof ProviderError) return deepest;
  const { code, name } = (deepest ?? {}) as { code?: string; name?: string };
  const reason = code ?? name ?? 'unknown'; // not the message, which contains the value of an invalid header
  if (code && TIMEOUTS.has(code))
    return new ProviderError('EGRESS_TIMED_OUT', `${host} did not respond in time (${code}).`, { cause: { code } });
  const message = `${host} cannot be reached, or closed the connection (${reason}).`;
  return new ProviderError('EGRESS_UNREACHABLE', message, { cause: { code } });
}

/** Returns the ProviderError in the chain of causes, or otherwise the innermost cause. */
function innermost(error: unknown): unknown {
  let at = error;
  for (;;) {
    if (at instanceof ProviderError) return at;
    const { cause, errors } = (at ?? {}) as { cause?: unknown; errors?: unknown[] };
    const next = cause ?? errors?.[0];
    if (next === undefined) return at;
    at = next;
  }
}
