import type { FastifyReply } from 'fastify';

/** Returns a signal that is aborted when the client closes the connection, so that work for this client can end. */
export function closeSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  if (reply.raw.destroyed)
    controller.abort(); // the client has already left, so `close` does not follow
  else reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
