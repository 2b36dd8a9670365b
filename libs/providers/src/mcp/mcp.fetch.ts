import { guardedBody } from '../egress/guarded-body.js';
import { ProviderError } from '../errors.js';
import { CallScope } from './call.scope.js';

/** The maximum size of the response to one request. */
export const MAX_ANSWER_BYTES = 4 << 20;

/**
 * Binds each request to the call that caused it: the request ends with the call, its response has a size limit, and its error
 * is kept for the caller. The stream for notifications is not opened, because Rollcall reads the list of tools regularly.
 */
export function scopedFetch(inner: typeof fetch): typeof fetch {
  return async (input, init = {}) => {
    if (init.method === 'GET') return new Response(null, { status: 405 });
    const scope = CallScope.current;
    try {
      const response = await inner(input, { ...init, signal: joined(init.signal, scope?.signal) });
      return scope ? limited(response, scope, new URL(String(input)).host) : response;
    } catch (error) {
      if (error instanceof ProviderError) scope?.fail(error);
      throw error;
    }
  };
}

function limited(response: Response, scope: CallScope, host: string): Response {
  const explain = (error: unknown): ProviderError => {
    scope.fail(error as ProviderError); // the egress client throws only ProviderErrors
    return error as ProviderError;
  };
  const body =
    response.body && guardedBody(response.body, { host, limit: MAX_ANSWER_BYTES, explain, end: () => undefined });
  const { status, statusText, headers } = response;
  return new Response(body, { status, statusText, headers });
}

function joined(one: AbortSignal | null | undefined, other: AbortSignal | undefined): AbortSignal | undefined {
  return one && other ? AbortSignal.any([one, other]) : (one ?? other);
}
