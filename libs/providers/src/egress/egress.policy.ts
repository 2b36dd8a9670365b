import { isIP } from 'node:net';
import { ProviderError } from '../errors.js';
import { AddressPolicy, type AddressRules } from './address-policy.js';

export interface EgressRules extends AddressRules {
  /** The only ports that may be called. Without it: 80, 443 and everything from 1024. */
  ports?: readonly number[];
  /** Allow plain http to the whole Internet, not just to networks the operator named. */
  plainHttp?: boolean;
  /** Where an operator opens a network, for the message of a refusal. */
  howToOpen?: string;
}

const FIRST_UNPRIVILEGED_PORT = 1024;

/**
 * What may be called from here. `checkUrl` is for early refusals (a registration, a webhook) and judges all that an
 * address shows; a host name shows its addresses only when it is resolved, so `allows` judges each one again when a
 * connection is made.
 */
export class EgressPolicy {
  private readonly addresses: AddressPolicy;

  constructor(private readonly rules: EgressRules = {}) {
    this.addresses = new AddressPolicy(rules);
  }

  /** The parsed URL, or EGRESS_DENIED with the reason. */
  checkUrl(text: string | URL): URL {
    const url = parse(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      throw denied(url.host, `${url.protocol} is not http or https`);
    if (url.username !== '' || url.password !== '') throw denied(url.host, 'a URL must not carry a user or password');
    this.checkPort(url);
    const address = literalOf(url.hostname);
    if (address && !this.allows(address, url.protocol)) throw this.closed(url.host);
    return url;
  }

  /** Whether this address may be called. Plain http is for networks that the operator named. */
  allows(address: string, protocol: string): boolean {
    const verdict = this.addresses.judge(address);
    if (typeof verdict === 'object') return false;
    return protocol !== 'http:' || verdict === 'named' || this.rules.plainHttp === true;
  }

  /** The one refusal for every closed address: a reason would tell a stranger where an internal name leads. */
  closed(host: string): ProviderError {
    const { howToOpen = 'in the egress settings' } = this.rules;
    return denied(
      host,
      `it does not lead to an address that may be called. Use https and a public address; operators open networks ${howToOpen}`,
    );
  }

  private checkPort(url: URL): void {
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const { ports } = this.rules;
    const allowed = ports ? ports.includes(port) : port === 80 || port === 443 || port >= FIRST_UNPRIVILEGED_PORT;
    if (!allowed) throw denied(url.host, `port ${port} is closed`);
  }
}

/** Programs disagree on what a backslash in a URL means, and the URL parser drops some control characters silently. */
const AMBIGUOUS = /[\\\p{Cc}]/u;

function parse(text: string | URL): URL {
  if (AMBIGUOUS.test(String(text)))
    throw new ProviderError('EGRESS_DENIED', 'The address to call must not have a backslash or a control character.');
  if (!URL.canParse(String(text))) throw new ProviderError('EGRESS_DENIED', 'The address to call is not a URL.');
  return new URL(text);
}

/** How a URL is kept: as the parser understood it, without a fragment, and without the slash of an empty path. */
export function normalUrl(url: URL): string {
  const { origin, pathname, search } = url;
  return pathname === '/' && search === '' ? origin : origin + pathname + search;
}

/** `new URL` has already turned 2130706433, 0x7f.1 and the like into dotted form. */
function literalOf(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(bare)) return bare;
  return bare === 'localhost' || bare.endsWith('.localhost') ? '127.0.0.1' : undefined;
}

function denied(what: string, why: string): ProviderError {
  return new ProviderError('EGRESS_DENIED', `Calling ${what} is not allowed: ${why}.`);
}
