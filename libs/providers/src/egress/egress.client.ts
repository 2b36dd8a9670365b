import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIPv6, type LookupFunction } from 'node:net';
import type { Agent, buildConnector, fetch as undiciFetch, RequestInit as UndiciInit } from 'undici';
import { aborted, ProviderError } from '../errors.js';
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

interface EgressClientOptions {
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
    const { Agent, buildConnector, fetch } = await import('undici');
    const agent = new Agent({
      connect: guardedConnector(buildConnector, { ...this.options, connectMs: this.limits.connectMs }),
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

type Resolve = (
  host: string,
  options: { all: true },
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

export interface ConnectorOptions {
  policy: EgressPolicy;
  connectMs: number;
  resolve?: Resolve;
}

/**
 * Checks the resolved address of every connection, because a name can resolve to another address later (DNS rebinding). Literal
 * addresses are checked without a lookup.
 */
function guardedConnector(
  build: typeof buildConnector,
  { policy, connectMs, resolve = systemLookup }: ConnectorOptions,
): buildConnector.connector {
  const connectors = new Map(
    ['http:', 'https:'].map((protocol) => [
      protocol,
      build({ timeout: connectMs, allowH2: false, lookup: guardedLookup(policy, protocol, resolve) }),
    ]),
  );
  return (options, callback) => {
    try {
      const host = isIPv6(options.hostname) ? `[${options.hostname}]` : options.hostname;
      policy.checkUrl(`${options.protocol}//${host}:${options.port}`);
    } catch (error) {
      return callback(error as Error, null);
    }
    connectors.get(options.protocol)?.(options, callback);
  };
}

/** Returns only addresses that may be called. */
function guardedLookup(policy: EgressPolicy, protocol: string, resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '');
      const allowed = addresses.filter(({ address }) => policy.allows(address, protocol));
      const [first] = allowed;
      if (!first) return callback(policy.denial(host), '');
      if (options.all) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}

interface BodyGuard {
  host: string;
  limit: number;
  explain(error: unknown): ProviderError;
  /** Called when reading ends for any reason. */
  end(): void;
}

/** Returns the same stream, with a limit for its size, and with all errors converted to ProviderErrors. */
export function guardedBody(body: ReadableStream<Uint8Array>, guard: BodyGuard): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          guard.end();
          return controller.close();
        }
        size += value.byteLength;
        if (size > guard.limit) throw tooLarge(guard);
        controller.enqueue(value);
      } catch (error) {
        const explained = guard.explain(error);
        guard.end();
        controller.error(explained);
      }
    },
    async cancel(reason) {
      await reader.cancel(reason);
      guard.end();
    },
  });
}

function tooLarge({ host, limit }: BodyGuard): ProviderError {
  return new ProviderError('EGRESS_TOO_LARGE', `The response of ${host} is larger than the limit of ${limit} bytes.`);
}

const TIMEOUTS = new Set(['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT']);

/** Converts an error of undici. The message contains the innermost cause, and nothing of the request. */
function toEgressError(error: unknown, host: string): ProviderError {
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
