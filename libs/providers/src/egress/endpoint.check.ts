import { lookup as systemLookup } from 'node:dns';
import { isIP } from 'node:net';
import type { ConnectorOptions } from './egress.connector.js';
import { type EgressPolicy, normalUrl } from './egress.policy.js';

export interface EndpointCheckOptions {
  policy: EgressPolicy;
  /** How long a name may take to resolve before it is left to the connection to judge it. */
  withinMs?: number;
  /** Instead of the system's name resolution. */
  resolve?: ConnectorOptions['resolve'];
}

const USUAL_WITHIN_MS = 500;
/** The system resolves names on few threads, which others need too. */
const MOST_AT_ONCE = 2;

/**
 * Judges an address that someone wants to be called at later, before it is taken down. A name is resolved, and refused when
 * all it leads to is closed, as a connection would. A name that does not resolve now is taken: it may tomorrow, and every
 * connection judges again.
 */
export class EndpointCheck {
  private readonly policy: EgressPolicy;
  private readonly withinMs: number;
  private readonly resolve: NonNullable<ConnectorOptions['resolve']>;
  private underWay = 0;

  constructor({ policy, withinMs = USUAL_WITHIN_MS, resolve = systemLookup }: EndpointCheckOptions) {
    this.policy = policy;
    this.withinMs = withinMs;
    this.resolve = resolve;
  }

  /** The address as it is to be kept, or EGRESS_DENIED. */
  async check(text: string): Promise<string> {
    const url = this.policy.checkUrl(text);
    const { hostname, host, protocol } = url;
    if (isIP(hostname.replace(/^\[|\]$/g, ''))) return normalUrl(url);
    const addresses = await this.addressesOf(hostname);
    if (addresses.length === 0 || addresses.some((address) => this.policy.allows(address, protocol)))
      return normalUrl(url);
    throw this.policy.closed(host);
  }

  /** None when it cannot be told in time. */
  private async addressesOf(hostname: string): Promise<string[]> {
    if (this.underWay >= MOST_AT_ONCE) return [];
    this.underWay += 1;
    return await new Promise((done) => {
      const timer = setTimeout(() => done([]), this.withinMs).unref();
      this.resolve(hostname, { all: true }, (error, found) => {
        this.underWay -= 1;
        clearTimeout(timer);
        done(error ? [] : found.map(({ address }) => address));
      });
    });
  }
}
