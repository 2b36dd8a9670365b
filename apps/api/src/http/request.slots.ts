import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ConcurrencyLimiter, ConcurrentCaller, Slots } from './concurrency.limiter.js';
import type { RequestKind } from './route.limits.js';

const HELD = Symbol('held');

type Holder = ServerResponse & { [HELD]?: { slots: Slots; kind: RequestKind } };

/**
 * A request holds a slot of its caller until its response is sent: a client that closes the connection early does not free a slot
 * while the server still processes the request. A stream also holds its slot until its connection is closed.
 */
export function holdSlot(
  reply: FastifyReply,
  limiter: ConcurrencyLimiter,
  caller: ConcurrentCaller,
  kind: RequestKind,
): void {
  const response: Holder = reply.raw;
  response[HELD] = { slots: limiter.acquire(caller, kind), kind };
  if (kind === 'streams') response.on('close', onClose);
}

/** Call this when the response to a request is sent, even if the client has closed the connection. */
export function releaseOnAnswer(reply: FastifyReply): void {
  const response: Holder = reply.raw;
  if (response[HELD]?.kind === 'requests' || response.closed) release(response);
}

/** If no response was sent, the client closed the connection, and the slot is held until the request is processed. */
function onClose(this: Holder): void {
  if (this.headersSent) release(this);
}

function release(response: Holder): void {
  const held = response[HELD];
  if (!held) return;
  response[HELD] = undefined;
  held.slots[held.kind] -= 1;
}
