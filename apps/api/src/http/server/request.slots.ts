import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ConcurrencyLimiter, ConcurrentCaller, Slots } from './concurrency.limiter.js';
import type { RequestKind } from './routes.js';

const HELD = Symbol('held');

interface Held {
  limiter: ConcurrencyLimiter;
  caller: ConcurrentCaller;
  slots: Slots;
  kind: RequestKind;
}

type Holder = ServerResponse & { [HELD]?: Held };

/**
 * A request holds a slot of its caller until its response is sent: a client that closes the connection early does not free a slot
 * while the server still processes the request. A stream also holds its slot until its connection is closed, and so does a wait,
 * which may report its progress as a stream.
 */
export function holdSlot(
  reply: FastifyReply,
  limiter: ConcurrencyLimiter,
  caller: ConcurrentCaller,
  kind: RequestKind,
): void {
  const response: Holder = reply.raw;
  response[HELD] = { limiter, caller, slots: limiter.acquire(caller, kind), kind };
  if (kind !== 'requests') response.on('close', onClose);
}

/** Counts a wait as a stream from now on. Rejects if the caller has too many streams; the request then still counts as a wait. */
export function becomeStream(reply: FastifyReply): void {
  const held = (reply.raw as Holder)[HELD];
  if (held?.kind !== 'waits') return;
  held.limiter.acquire(held.caller, 'streams');
  held.slots.waits -= 1;
  held.kind = 'streams';
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
