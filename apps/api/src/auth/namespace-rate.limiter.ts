import { Injectable } from '@nestjs/common';
import { NamespaceCatalog } from '#rollcall/platform';
import { RateLimiter } from './rate.limiter.js';

const ADVICE = 'ask an administrator of all namespaces to raise requestsPerSecond of this namespace';

/** Limits the requests that all credentials of one namespace together send to this replica. */
@Injectable()
export class NamespaceRateLimiter {
  private readonly limiter = new RateLimiter(0);

  constructor(private readonly catalog: NamespaceCatalog) {}

  count(namespace: string): void {
    const { requestsPerSecond } = this.catalog.limitsOf(namespace);
    if (requestsPerSecond > 0) this.limiter.count({ id: namespace }, requestsPerSecond, ADVICE);
  }
}
