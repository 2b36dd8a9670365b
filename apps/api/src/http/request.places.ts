import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { ConcurrencyLimiter, Occupant, Places } from './concurrency.limiter.js';
import type { RequestKind } from './route.limits.js';

const HELD = Symbol('held');

type Holder = ServerResponse & { [HELD]?: { places: Places; kind: RequestKind } };

/**
 * A request holds one of its caller's places until its answer is known: a client that hangs up early does not free a place while
 * the server still works for it. A stream holds its place until its connection is closed as well.
 */
export function holdPlace(reply: FastifyReply, limiter: ConcurrencyLimiter, caller: Occupant, kind: RequestKind): void {
  const response: Holder = reply.raw;
  response[HELD] = { places: limiter.enter(caller, kind), kind };
  if (kind === 'streams') response.on('close', onClose);
}

/** To be called when the answer to a request is known, also when nobody waits for it any more. */
export function answerKnown(reply: FastifyReply): void {
  const response: Holder = reply.raw;
  if (response[HELD]?.kind === 'requests' || response.closed) release(response);
}

/** Without an answer, the client hung up and the work goes on until its answer is known. */
function onClose(this: Holder): void {
  if (this.headersSent) release(this);
}

function release(response: Holder): void {
  const held = response[HELD];
  if (!held) return;
  response[HELD] = undefined;
  held.places[held.kind] -= 1;
}
