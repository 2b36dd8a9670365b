import type { FastifyReply } from 'fastify';

/** Aborts when the client closes the connection, so that a wait for it ends. */
export function closeSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
