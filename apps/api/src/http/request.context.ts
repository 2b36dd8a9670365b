import { AsyncLocalStorage } from 'node:async_hooks';
import type { Principal } from '../auth/principal.js';

/** What travels with a request into everything it causes: logs, audit records, traces. */
export interface RequestContext {
  requestId: string;
  ip: string;
  principal?: Principal;
}

export const requestContext = new AsyncLocalStorage<RequestContext>();
