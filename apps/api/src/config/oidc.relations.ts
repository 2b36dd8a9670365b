import { isIPv4 } from 'node:net';
import type { Config } from './config.schema.js';

/** Settings of OpenID Connect that are each right but do not fit together, or are not safe. */
export function oidcFaults({ auth }: Config): string[] {
  const faults: string[] = [];
  if (auth.oidcIssuer && !auth.oidcAudience) {
    faults.push(
      'auth.oidcAudience (ROLLCALL_OIDC_AUDIENCE) must be set with auth.oidcIssuer: tokens meant for other services would be accepted',
    );
  }
  if (!auth.oidcIssuer && (auth.oidcAudience || auth.oidcJwksUri)) {
    faults.push('auth.oidcIssuer (ROLLCALL_OIDC_ISSUER) must be set for the other OIDC settings to have an effect');
  }
  const urls = { 'auth.oidcIssuer': auth.oidcIssuer, 'auth.oidcJwksUri': auth.oidcJwksUri };
  for (const [name, url] of Object.entries(urls)) {
    if (url === undefined || mayFetchKeysFrom(url, auth)) continue;
    faults.push(
      `${name} must begin with https: keys that arrive over plain http can be replaced on the way. ` +
        'For a trusted network, set auth.oidcPlainHttp (ROLLCALL_OIDC_PLAIN_HTTP) to allow',
    );
  }
  return faults;
}

/** By https, or by plain http on this machine or where the operator allows it. */
export function mayFetchKeysFrom(url: string, { oidcPlainHttp }: Pick<Config['auth'], 'oidcPlainHttp'>): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:') return protocol === 'https:';
  return oidcPlainHttp === 'allow' || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}
