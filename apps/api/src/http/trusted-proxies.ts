import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';

/**
 * The address of the client that sent a request. `X-Forwarded-For` counts only when a trusted proxy sent it, and only when it
 * names an address: anything else in it is the address of the proxy.
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
