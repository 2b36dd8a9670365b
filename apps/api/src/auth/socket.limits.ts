import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ConcurrencyLimiter } from '../http/concurrency.limiter.js';
import { TrustedProxies } from '../http/trusted-proxies.js';
import type { Principal } from './principal.js';
import { UnprovenRequests } from './unproven.requests.js';

/** The limits of ordinary requests, for WebSockets. */
@Injectable()
export class SocketLimits {
  constructor(
    private readonly proxies: TrustedProxies,
    private readonly callers: ConcurrencyLimiter,
    private readonly unproven: UnprovenRequests,
  ) {}

  addressOf(request: IncomingMessage): string {
    return this.proxies.addressOf(request);
  }

  async lookUp(address: string, find: () => Promise<Principal>): Promise<Principal> {
    return await this.unproven.lookUp(address, find);
  }

  /** Returns how to leave. */
  enter(principal: Principal): () => void {
    const places = this.callers.enter(principal, 'streams');
    return () => (places.streams -= 1);
  }
}
