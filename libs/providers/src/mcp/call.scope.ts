import { AsyncLocalStorage } from 'node:async_hooks';
import { aborted, ProviderError } from '../errors.js';

/**
 * One call of an MCP server. The SDK has no parameter that leads from a call to its HTTP requests, so they find their scope in
 * the asynchronous context. When the call ends for any reason, its requests are aborted.
 */
export class CallScope {
  /** The error of a request, which the SDK would replace with a text. */
  failure?: ProviderError;
  private readonly ending = new AbortController();

  private constructor(private readonly caller: AbortSignal | undefined) {}

  static get current(): CallScope | undefined {
    return scopes.getStore();
  }

  static async run<Result>(caller: AbortSignal | undefined, work: (scope: CallScope) => Promise<Result>): Promise<Result> {
    const scope = new CallScope(caller);
    const end = (): void => scope.ending.abort();
    if (caller?.aborted) throw aborted('The call of an MCP server');
    caller?.addEventListener('abort', end, { once: true });
    try {
      return await scopes.run(scope, async () => await work(scope));
    } finally {
      caller?.removeEventListener('abort', end);
      end();
    }
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
