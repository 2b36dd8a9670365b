import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import type { ConnectorOptions } from './egress.connector.js';
import { type EgressPolicy, normalizeUrl } from './egress.policy.js';

export interface EndpointCheckOptions {
  policy: EgressPolicy;
  /** The time limit for the name resolution. After it, the URL is accepted, and each connection is checked. */
  timeoutMs?: number;
  /** Replaces the name resolution of the system. */
  resolve?: ConnectorOptions['resolve'];
}

const DEFAULT_TIMEOUT_MS = 500;
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
  private readonly resolve: NonNullable<ConnectorOptions['resolve']>;
  private inFlight = 0;

  constructor({ policy, timeoutMs = DEFAULT_TIMEOUT_MS, resolve = systemLookup }: EndpointCheckOptions) {
    this.policy = policy;
    this.timeoutMs = timeoutMs;
    this.resolve = resolve;
  }

  /** Returns the URL in the form in which it is stored, or throws EGRESS_DENIED. */
  async check(text: string): Promise<string> {
    const url = this.policy.checkUrl(text);
    const { hostname, host, protocol } = url;
    if (isIP(hostname.replace(/^\[|\]$/g, ''))) return normalizeUrl(url);
    const addresses = await this.addressesOf(hostname);
    if (addresses.length === 0 || addresses.some((address) => this.policy.allows(address, protocol)))
      return normalizeUrl(url);
    throw this.policy.denial(host);
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
