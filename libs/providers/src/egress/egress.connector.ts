import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIPv6, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { EgressPolicy } from './egress.policy.js';

type Resolve = (
  host: string,
  options: { all: true },
  done: (error: Error | null, found: LookupAddress[]) => void,
) => void;

export interface ConnectorOptions {
  policy: EgressPolicy;
  connectMs: number;
  resolve?: Resolve;
}

/**
 * Makes connections, each to an address that was judged at that moment: a name that resolved to something harmless a
 * second ago may not any more. Literal addresses never reach a lookup, so they are judged before.
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

/** Answers only with addresses that may be called. */
function guardedLookup(policy: EgressPolicy, protocol: string, resolve: Resolve): LookupFunction {
  return (host, options, callback) => {
    resolve(host, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, '');
      const open = found.filter(({ address }) => policy.allows(address, protocol));
      const [first] = open;
      if (!first) return callback(policy.closed(host), '');
      if (options.all) return callback(null, open);
      callback(null, first.address, first.family);
    });
  };
}
