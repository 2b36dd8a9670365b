import { isIPv4 } from 'node:net';
import type { Config } from './config.schema.js';

/** Checks OpenID Connect settings that are valid alone, but not together or not safe. */
export function oidcErrors({ auth }: Config): string[] {
  const errors: string[] = [];
  if (auth.oidcIssuer && !auth.oidcAudience) {
    errors.push(
      'auth.oidcAudience (ROLLCALL_OIDC_AUDIENCE) must be set with auth.oidcIssuer: otherwise tokens for other services are accepted',
    );
  }
  if (!auth.oidcIssuer && (auth.oidcAudience || auth.oidcJwksUri)) {
    errors.push('auth.oidcIssuer (ROLLCALL_OIDC_ISSUER) must be set for the other OIDC settings to have an effect');
  }
  const urls = { 'auth.oidcIssuer': auth.oidcIssuer, 'auth.oidcJwksUri': auth.oidcJwksUri };
  for (const [name, url] of Object.entries(urls)) {
    if (url === undefined || mayFetchKeysFrom(url, auth)) continue;
    errors.push(
      `${name} must begin with https: an attacker in the network can replace keys that are sent over plain http. ` +
        'In a trusted network, set auth.oidcPlainHttp (ROLLCALL_OIDC_PLAIN_HTTP) to allow',
    );
  }
  return errors;
}

/** Allows https. Plain http is allowed only to this machine, or if the operator allows it. */
export function mayFetchKeysFrom(url: string, { oidcPlainHttp }: Pick<Config['auth'], 'oidcPlainHttp'>): boolean {
  const { protocol, hostname } = new URL(url);
  if (protocol !== 'http:') return protocol === 'https:';
  return oidcPlainHttp === 'allow' || isLoopback(hostname);
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}
