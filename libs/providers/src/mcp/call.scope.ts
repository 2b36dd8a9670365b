import { AsyncLocalStorage } from 'node:async_hooks';
import { guardedBody } from '../egress/egress.client.js';
import { aborted, ProviderError } from '../errors.js';

/**
 * One call to an MCP server. The SDK has no parameter that leads from a call to its HTTP requests, so the requests find the scope of
 * their call in the asynchronous context. When the call ends for any reason, its requests are aborted.
 */
export class CallScope {
  private failed?: ProviderError;
  private readonly failing = Promise.withResolvers<never>();
  private readonly ending = new AbortController();

  private constructor(private readonly caller: AbortSignal | undefined) {
    this.failing.promise.catch(() => undefined); // a request may fail when nobody waits for a result
  }

  static get current(): CallScope | undefined {
    return scopes.getStore();
  }

  static async run<Result>(
    caller: AbortSignal | undefined,
    work: (scope: CallScope) => Promise<Result>,
  ): Promise<Result> {
    const scope = new CallScope(caller);
    const end = (): void => scope.ending.abort();
    if (caller?.aborted) throw aborted('The call to an MCP server');
    caller?.addEventListener('abort', end, { once: true });
    try {
      return await scopes.run(scope, async () => await work(scope));
    } finally {
      caller?.removeEventListener('abort', end);
      end();
    }
  }

  /** Returns the result, or rejects as soon as a request has failed: the SDK may wait for a response that cannot arrive. */
  async result<Result>(result: Promise<Result>): Promise<Result> {
    return await Promise.race([result, this.failing.promise]);
  }

  /** The error of a request, which the SDK would replace with a text. */
  get failure(): ProviderError | undefined {
    return this.failed;
  }

  /** Ends the call with this error. CALL_ABORTED is ignored, because it is a consequence of the end and not its cause. */
  fail(error: ProviderError): void {
    if (error.code === 'CALL_ABORTED') return;
    this.failed ??= error;
    this.failing.reject(error);
  }

  get isCancelled(): boolean {
    return this.caller?.aborted === true;
  }

  /** Aborted when the call ends. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }
}

const scopes = new AsyncLocalStorage<CallScope>();

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
