import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import { ProviderError } from '../errors.js';
import type { ConnectorOptions } from './egress.client.js';
import { type EgressPolicy, normalizeUrl } from './egress.policy.js';

interface EndpointCheckOptions {
  policy: EgressPolicy;
  /** The time limit for the resolution of one name. If it is exceeded, the URL is accepted, and each connection is checked. */
  timeoutMs?: number;
  /** The time limit of `checkAll`. If it is exceeded, no further name is resolved, and the URLs with the remaining names are rejected. */
  totalTimeoutMs?: number;
  /** Replaces the name resolution of the system. */
  resolve?: ConnectorOptions['resolve'];
}

/** The URL to store, or the reason why it is rejected. */
type CheckedUrl = { url: string } | { error: unknown };

const DEFAULT_TIMEOUT_MS = 500;
const DEFAULT_TOTAL_TIMEOUT_MS = 10_000;
/** The limit of concurrent resolutions, because the system has few threads for them. */
const MAX_CONCURRENT = 2;

/**
 * Checks a URL before it is stored and called later. It resolves the name and rejects the URL if none of the addresses
 * may be called. A name that cannot be resolved now is accepted, because it may be resolvable later, and every
 * connection is checked again.
 */
export class EndpointCheck {
  private readonly policy: EgressPolicy;
  private readonly timeoutMs: number;
  private readonly totalTimeoutMs: number;
  private readonly resolve: NonNullable<ConnectorOptions['resolve']>;
  private inFlight = 0;

  constructor(options: EndpointCheckOptions) {
    this.policy = options.policy;
    this.timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.totalTimeoutMs = options.totalTimeoutMs ?? DEFAULT_TOTAL_TIMEOUT_MS;
    this.resolve = options.resolve ?? systemLookup;
  }

  /** Returns the URL in the form in which it is stored. Throws EGRESS_DENIED, or ENDPOINT_NOT_CHECKED after the timeout. */
  async check(text: string, timeout?: AbortSignal): Promise<string> {
    const url = this.policy.checkUrl(text);
    const { hostname, host, protocol } = url;
    if (isIP(hostname.replace(/^\[|\]$/g, ''))) return normalizeUrl(url);
    if (timeout?.aborted) throw this.notChecked(host);
    const addresses = await this.addressesOf(hostname);
    if (addresses.length === 0 || addresses.some((address) => this.policy.allows(address, protocol)))
      return normalizeUrl(url);
    throw this.policy.denial(host);
  }

  /** Checks each URL once. */
  async checkAll(urls: readonly string[]): Promise<Map<string, CheckedUrl>> {
    const checked = new Map<string, CheckedUrl>();
    const timeout = AbortSignal.timeout(this.totalTimeoutMs);
    const waiting = new Set(urls).values();
    const worker = async (): Promise<void> => {
      for (const url of waiting) checked.set(url, await this.checkOne(url, timeout));
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
    return checked;
  }

  private async checkOne(url: string, timeout: AbortSignal): Promise<CheckedUrl> {
    try {
      return { url: await this.check(url, timeout) };
    } catch (error) {
      return { error };
    }
  }

  private notChecked(host: string): ProviderError {
    return new ProviderError(
      'ENDPOINT_NOT_CHECKED',
      `${host} was not checked: the host names of this request took longer than ${this.totalTimeoutMs} ms to resolve. ` +
        'Send this URL again in a request with fewer host names.',
    );
  }

  /** Returns no address if the name cannot be resolved in time. */
  private async addressesOf(hostname: string): Promise<string[]> {
    if (this.inFlight >= MAX_CONCURRENT) return [];
    this.inFlight += 1;
    return await new Promise((done) => {
      const timer = setTimeout(() => done([]), this.timeoutMs).unref();
      this.resolve(hostname, { all: true }, (error, found) => {
        this.inFlight -= 1;
        clearTimeout(timer);
        done(error ? [] : found.map(({ address }) => address));
      });
    });
  }
}
