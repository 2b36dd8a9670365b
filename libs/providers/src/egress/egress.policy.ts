import { isIP } from 'node:net';
import { ProviderError } from '../errors.js';
import { AddressPolicy, type AddressRules } from './address-policy.js';

export interface EgressRules extends AddressRules {
  /** The ports that may be called. The default is 80, 443 and all ports from 1024. */
  ports?: readonly number[];
  /** Allows plain http to the whole Internet, and not only to networks on the allowlist. */
  plainHttp?: boolean;
  /** How an operator allows a network, for the error message. */
  howToOpen?: string;
}

const FIRST_UNPRIVILEGED_PORT = 1024;

/**
 * Decides which URLs Rollcall may call. `checkUrl` rejects a URL early, for example in a registration, if the URL
 * itself shows the problem. The addresses of a host name are only known when it is resolved, so `allows` checks
 * them for every connection.
 */
export class EgressPolicy {
  private readonly addresses: AddressPolicy;

  constructor(private readonly rules: EgressRules = {}) {
    this.addresses = new AddressPolicy(rules);
  }

  /** Returns the parsed URL, or throws EGRESS_DENIED with the reason. */
  checkUrl(text: string | URL): URL {
    const url = parse(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw notHttp('http or https', String(text));
    if (url.username !== '' || url.password !== '') throw denied(url.host, 'a URL must not contain a user or password');
    this.checkPort(url);
    const address = literalOf(url.hostname);
    if (address && !this.allows(address, url.protocol)) throw this.denial(url.host);
    return url;
  }

  /** Returns whether this address may be called. Plain http is only allowed for networks on the allowlist. */
  allows(address: string, protocol: string): boolean {
    const verdict = this.addresses.evaluate(address);
    if (typeof verdict === 'object') return false;
    return protocol !== 'http:' || verdict === 'allowlisted' || this.rules.plainHttp === true;
  }

  /** The error is the same for every denied address, because a reason would reveal where an internal name leads. */
  denial(host: string): ProviderError {
    const { howToOpen = 'in the egress settings' } = this.rules;
    return denied(
      host,
      `its address may not be called. Use https and a public address; an operator can allow other networks ${howToOpen}`,
    );
  }

  private checkPort(url: URL): void {
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const { ports } = this.rules;
    const allowed = ports ? ports.includes(port) : port === 80 || port === 443 || port >= FIRST_UNPRIVILEGED_PORT;
    if (!allowed) throw denied(url.host, `port ${port} is not allowed`);
  }
}

const MAX_SHOWN = 200;
/** Programs disagree on what a backslash in a URL means, and the URL parser drops some control characters silently. */
const AMBIGUOUS = /[\\\p{Cc}]/u;

function parse(text: string | URL): URL {
  if (AMBIGUOUS.test(String(text)))
    throw new ProviderError('EGRESS_DENIED', 'The URL must not contain a backslash or a control character.');
  if (!URL.canParse(String(text))) throw notHttp('a URL', String(text));
  return new URL(text);
}

/** `localhost:3000` is a URL with the protocol `localhost:`, so the most frequent mistake is a missing `http://`. */
function notHttp(expected: string, text: string): ProviderError {
  const hint = /^[\w.-]+:\d/.test(text) ? ` Did you mean http://${text.slice(0, MAX_SHOWN)}?` : '';
  return new ProviderError(
    'EGRESS_DENIED',
    `The address is not ${expected}: begin it with http:// or https://.${hint}`,
  );
}

/** Returns the URL in the form in which it is stored: without a fragment, and without the slash of an empty path. */
export function normalizeUrl(url: URL): string {
  const { origin, pathname, search } = url;
  return pathname === '/' && search === '' ? origin : origin + pathname + search;
}

/** `new URL` has already converted forms such as 2130706433 and 0x7f.1 to dotted notation. */
function literalOf(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(bare)) return bare;
  return bare === 'localhost' || bare.endsWith('.localhost') ? '127.0.0.1' : undefined;
}

function denied(what: string, why: string): ProviderError {
  return new ProviderError('EGRESS_DENIED', `Calling ${what} is not allowed: ${why}.`);
}
