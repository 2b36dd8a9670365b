import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';

/** The part of a request that says where it came from. */
export interface Told {
  headers: Record<string, string | string[] | undefined>;
  socket: { remoteAddress?: string };
}

/** What gateways that are trusted say of a request: whose it is, and whether it came by HTTPS. Fastify's own rules. */
export class Gateway {
  private readonly trusts?: (address: string, hop: number) => boolean;

  constructor(trusted: readonly string[]) {
    if (trusted.length > 0) this.trusts = proxyAddr.compile([...trusted]);
  }

  addressOf(request: Told): string {
    return this.trusts ? proxyAddr(request as IncomingMessage, this.trusts) : (request.socket.remoteAddress ?? '');
  }

  saysHttps({ headers, socket }: Told): boolean {
    const told = headers['x-forwarded-proto'];
    if (!this.trusts || told === undefined || !this.trusts(socket.remoteAddress ?? '', 0)) return false;
    return String(told).split(',').at(-1)?.trim() === 'https';
  }
}
