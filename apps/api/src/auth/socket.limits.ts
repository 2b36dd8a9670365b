import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ConcurrencyLimiter } from '../http/server/concurrency.limiter.js';
import { TrustedProxies } from '../http/server/trusted-proxies.js';
import type { Principal } from './principal.js';
import { UnauthenticatedLimiter } from './unauthenticated.limiter.js';

/** Applies the limits of ordinary requests to WebSockets. */
@Injectable()
export class SocketLimits {
  constructor(
    private readonly proxies: TrustedProxies,
    private readonly callers: ConcurrencyLimiter,
    private readonly unauthenticated: UnauthenticatedLimiter,
  ) {}

  addressOf(request: IncomingMessage): string {
    return this.proxies.addressOf(request);
  }

  async lookUp(address: string, find: () => Promise<Principal>): Promise<Principal> {
    return await this.unauthenticated.lookUp(address, find);
  }

  /** Returns a function that releases the slot. */
  acquire(principal: Principal): () => void {
    const slots = this.callers.acquire(principal, 'streams');
    return () => (slots.streams -= 1);
  }
}
