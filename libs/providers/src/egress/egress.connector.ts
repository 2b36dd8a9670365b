import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIPv6, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { EgressPolicy } from './egress.policy.js';

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
export function guardedConnector({
  policy,
  connectMs,
  resolve = systemLookup,
}: ConnectorOptions): buildConnector.connector {
  const connectors = new Map(
    ['http:', 'https:'].map((protocol) => [
      protocol,
      buildConnector({ timeout: connectMs, allowH2: false, lookup: guardedLookup(policy, protocol, resolve) }),
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
