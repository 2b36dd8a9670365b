import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';

/**
 * The client address of a request that Fastify does not see, such as a WebSocket upgrade. `X-Forwarded-For` counts only
 * when a trusted proxy sent it, by the same rules that Fastify applies to ordinary requests.
 */
export class TrustedProxies {
  private readonly trusts?: (address: string, hop: number) => boolean;

  constructor(trusted: readonly string[]) {
    if (trusted.length > 0) this.trusts = proxyAddr.compile([...trusted]);
  }

  addressOf(request: IncomingMessage): string {
    return this.trusts ? proxyAddr(request, this.trusts) : (request.socket.remoteAddress ?? '');
  }
}
