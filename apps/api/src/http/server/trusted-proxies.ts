import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

/**
 * Finds the address of the client of a request. `X-Forwarded-For` is used only if a trusted proxy sent it and its value is an
 * address. Otherwise the result is the address of the peer.
 */
export class TrustedProxies {
  private readonly trusts?: (address: string, hop: number) => boolean;

  constructor(trusted: readonly string[]) {
    if (trusted.length > 0) this.trusts = proxyAddr.compile([...trusted]);
  }

  addressOf(request: IncomingMessage): string {
    const { remoteAddress = '' } = request.socket;
    if (!this.trusts) return remoteAddress;
    const address = proxyAddr(request, this.trusts);
    return isIP(address) > 0 ? address : remoteAddress;
  }
}
