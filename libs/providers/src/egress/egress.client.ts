import { Agent, fetch as undiciFetch, type RequestInit as UndiciInit } from 'undici';
import { aborted, ProviderError } from '../errors.js';
import { guardedBody } from './guarded-body.js';
import { guardedConnector, type ConnectorOptions } from './egress.connector.js';
import { toEgressError } from './egress.errors.js';
import type { EgressPolicy } from './egress.policy.js';

export interface EgressLimits {
  connectMs: number;
  /** Until the answer begins. */
  headersMs: number;
  /** Between two pieces of it. */
  idleMs: number;
  totalMs: number;
  /** Of the answer, after decompression. */
  bytes: number;
}

/** For what answers at once: cards, webhooks, key sets. */
export const QUICK_LIMITS: EgressLimits = {
  connectMs: 3_000,
  headersMs: 10_000,
  idleMs: 10_000,
  totalMs: 10_000,
  bytes: 1 << 20,
};

/** For what thinks before it answers: models and agents. */
export const PATIENT_LIMITS: EgressLimits = {
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
  /** Instead of the system's name resolution. */
  resolve?: ConnectorOptions['resolve'];
}

/**
 * The one way out. Its `fetch` is the usual one, except that every connection is judged by the policy, redirects are not
 * followed, and size and time have a limit. It throws ProviderErrors only. `close` drops every connection it holds.
 */
export class EgressClient {
  readonly fetch: typeof fetch = (input, init) => this.call(input, init);
  private readonly agent: Agent;
  private readonly policy: EgressPolicy;
  private readonly limits: EgressLimits;
  private readonly watches = new Set<Stopwatch>();

  constructor({ policy, limits = QUICK_LIMITS, resolve }: EgressClientOptions) {
    this.policy = policy;
    this.limits = limits;
    this.agent = new Agent({
      connect: guardedConnector({ policy, connectMs: limits.connectMs, resolve }),
      headersTimeout: limits.headersMs,
      bodyTimeout: limits.idleMs,
    });
  }

  /** Requests whose answer has neither been read to its end nor been given up. */
  get underWay(): number {
    return this.watches.size;
  }

  async close(): Promise<void> {
    await this.agent.destroy();
    for (const watch of this.watches) watch.stop();
    this.watches.clear();
  }

  private async call(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    if (input instanceof Request) return await this.call(input.url, { ...partsOf(input), ...init });
    const url = this.policy.checkUrl(input);
    const caller = init.signal ?? undefined;
    if (caller?.aborted) throw aborted(`The request to ${url.host}`);
    const watch = new Stopwatch(url.host, this.limits.totalMs);
    this.watches.add(watch);
    const end = (): void => {
      this.watches.delete(watch);
      watch.stop();
    };
    const explain = (error: unknown): ProviderError =>
      caller?.aborted ? aborted(`The request to ${url.host}`) : (watch.expired ?? toEgressError(error, url.host));
    try {
      const signal = caller ? AbortSignal.any([caller, watch.signal]) : watch.signal;
      const options = { ...init, signal, redirect: 'manual', dispatcher: this.agent } as UndiciInit;
      const response = await undiciFetch(url, options);
      if (REDIRECTS.has(response.status)) throw redirected(url, response.status);
      return guardedResponse(response, { limit: this.limits.bytes, host: url.host, explain, end });
    } catch (error) {
      const explained = explain(error);
      end();
      throw explained;
    }
  }
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
    `${url.host} answered ${status} with a redirect, which is not followed. Use the address it redirects to.`,
    { status },
  );
}

/** Ends a request that takes too long altogether. `stop` also lets go of what is left of it. */
class Stopwatch {
  expired?: ProviderError;
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(host: string, totalMs: number) {
    this.timer = setTimeout(() => {
      this.expired = new ProviderError('EGRESS_TIMED_OUT', `${host} did not finish its answer within ${totalMs} ms.`);
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
