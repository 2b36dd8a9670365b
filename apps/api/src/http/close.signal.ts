import type { FastifyReply } from 'fastify';

/** Returns a signal that is aborted when the client closes the connection, so that work for this client can end. */
export function closeSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
