import type { Agent, fetch as undiciFetch, RequestInit as UndiciInit } from 'undici';
import { aborted, ProviderError } from '../errors.js';
import { guardedBody } from './guarded-body.js';
import type { ConnectorOptions } from './egress.connector.js';
import { toEgressError } from './egress.errors.js';
import type { EgressPolicy } from './egress.policy.js';

export interface EgressLimits {
  connectMs: number;
  /** The time until the headers of the response arrive. */
  headersMs: number;
  /** The time between two parts of the body. */
  idleMs: number;
  totalMs: number;
  /** The size of the body after decompression. */
  bytes: number;
}

/** For requests that are answered quickly: agent cards, webhooks, key sets. */
export const SHORT_CALL_LIMITS: EgressLimits = {
  connectMs: 3_000,
  headersMs: 10_000,
  idleMs: 10_000,
  totalMs: 10_000,
  bytes: 1 << 20,
};

/** For requests that can take a long time: models and agents. */
export const LONG_CALL_LIMITS: EgressLimits = {
  connectMs: 5_000,
  headersMs: 600_000,
  idleMs: 300_000,
  totalMs: 1_800_000,
  bytes: 32 << 20,
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

export interface EgressClientOptions {
  policy: EgressPolicy;
  limits?: EgressLimits;
  /** Replaces the name resolution of the system. */
  resolve?: ConnectorOptions['resolve'];
}

/**
 * Sends requests to agents, webhooks and model vendors. Its `fetch` works like the global `fetch`, except that the policy
 * checks every connection, redirects are not followed, and size and time are limited. It throws only ProviderErrors.
 * `close` closes all connections.
 */
export class EgressClient {
  readonly fetch: typeof fetch = (input, init) => this.call(input, init);
  private dispatcher?: Promise<Dispatcher>;
  private closed = false;
  private readonly policy: EgressPolicy;
  private readonly limits: EgressLimits;
  private readonly timers = new Set<RequestTimer>();

  constructor(private readonly options: EgressClientOptions) {
    this.policy = options.policy;
    this.limits = options.limits ?? SHORT_CALL_LIMITS;
  }

  /** The number of requests whose response was neither read to the end nor aborted. */
  get inFlight(): number {
    return this.timers.size;
  }

  async close(): Promise<void> {
    this.closed = true;
    const dispatcher = await this.dispatcher;
    await dispatcher?.agent.destroy();
    for (const requestTimer of this.timers) requestTimer.stop();
    this.timers.clear();
  }

  /** The package is large, so it is loaded at the first request. */
  private async createDispatcher(): Promise<Dispatcher> {
    const [{ Agent, fetch }, { guardedConnector }] = await Promise.all([
      import('undici'),
      import('./egress.connector.js'),
    ]);
    const agent = new Agent({
      connect: guardedConnector({ ...this.options, connectMs: this.limits.connectMs }),
      headersTimeout: this.limits.headersMs,
      bodyTimeout: this.limits.idleMs,
    });
    if (this.closed) await agent.destroy(); // it rejects all requests
    return { agent, fetch };
  }

  private async call(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    if (input instanceof Request) return await this.call(input.url, { ...partsOf(input), ...init });
    const url = this.policy.checkUrl(input);
    const caller = init.signal ?? undefined;
    if (caller?.aborted) throw aborted(`The request to ${url.host}`);
    const requestTimer = new RequestTimer(url.host, this.limits.totalMs);
    this.timers.add(requestTimer);
    const end = (): void => {
      this.timers.delete(requestTimer);
      requestTimer.stop();
    };
    const explain = (error: unknown): ProviderError =>
      caller?.aborted
        ? aborted(`The request to ${url.host}`)
        : (requestTimer.expired ?? toEgressError(error, url.host));
    try {
      const signal = caller ? AbortSignal.any([caller, requestTimer.signal]) : requestTimer.signal;
      const { agent, fetch: send } = await (this.dispatcher ??= this.createDispatcher());
      const options = { ...init, signal, redirect: 'manual', dispatcher: agent } as UndiciInit;
      const response = await send(url, options);
      if (REDIRECTS.has(response.status)) throw redirected(url, response.status);
      return guardedResponse(response, { limit: this.limits.bytes, host: url.host, explain, end });
    } catch (error) {
      const explained = explain(error);
      end();
      throw explained;
    }
  }
}

interface Dispatcher {
  agent: Agent;
  fetch: typeof undiciFetch;
}

function guardedResponse(
  response: Awaited<ReturnType<typeof undiciFetch>>,
  guard: Parameters<typeof guardedBody>[1],
): Response {
  if (!response.body) guard.end();
  const body = response.body && guardedBody(response.body as ReadableStream<Uint8Array>, guard);
  const { status, statusText } = response;
  return new Response(body, { status, statusText, headers: [...response.headers] });
}

function partsOf({ method, headers, body, signal }: Request): RequestInit {
  return { method, headers, signal, ...(body && { body, duplex: 'half' }) };
}

function redirected(url: URL, status: number): ProviderError {
  return new ProviderError(
    'EGRESS_REDIRECTED',
    `${url.host} responded with ${status}, a redirect, which is not followed. Use the target of the redirect as the address.`,
    { status },
  );
}

/** Aborts a request that exceeds its total time. `stop` also aborts the request, to release its resources. */
class RequestTimer {
  expired?: ProviderError;
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(host: string, totalMs: number) {
    this.timer = setTimeout(() => {
      this.expired = new ProviderError('EGRESS_TIMED_OUT', `${host} did not finish its response within ${totalMs} ms.`);
      this.controller.abort();
    }, totalMs).unref();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.controller.abort();
  }
}
