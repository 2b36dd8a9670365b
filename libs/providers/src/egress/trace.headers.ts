import { context, propagation } from '@opentelemetry/api';

/** The position of the calling code in its trace, as the headers of W3C Trace Context. Empty if it is not traced. */
export function traceHeaders(): Record<string, string> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

/** The same `fetch`, whose requests to an agent contain the position in the trace, so that the agent can continue the trace. */
export function tracedFetch(inner: typeof fetch): typeof fetch {
  return async (input, init = {}) => {
    const trace = Object.entries(traceHeaders());
    if (trace.length === 0) return await inner(input, init);
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    for (const [name, value] of trace) headers.set(name, value);
    return await inner(input, { ...init, headers });
  };
}
