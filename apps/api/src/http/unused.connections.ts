import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** How long a client may take to send the rest of its request after the server begins to close. */
const GRACE_MS = 1_000;

/**
 * Closes the connections that wait for their client when the server closes: connections that never carried a request (browsers and
 * proxies open some in advance) and connections with an incomplete request. Node counts both as active, so `closeIdleConnections`
 * leaves them open and the server would never stop. Requests in progress are completed first, even if the server has already
 * stopped listening: Fastify waits only for a server that still listens.
 */
export function closeUnusedConnections(server: FastifyInstance): void {
  const closed = Promise.withResolvers<void>();
  let hasListened = false;
  server.server.once('listening', () => (hasListened = true));
  server.server.once('close', closed.resolve);
  /** The response to the latest request of each connection. */
  const latest = new Map<Socket, ServerResponse>();
  server.server.on('request', ({ socket }, response) => {
    if (!latest.has(socket)) socket.once('close', () => latest.delete(socket));
    latest.set(socket, response);
  });
  server.addHook('preClose', async () => {
    const timer = setInterval(() => {
      if (![...latest.values()].some(isBeingHandled)) server.server.closeAllConnections();
    }, GRACE_MS).unref();
    void closed.promise.then(() => clearInterval(timer));
    if (hasListened && !server.server.listening) await closed.promise;
  });
}

function isBeingHandled(response: ServerResponse): boolean {
  return response.req.complete && !response.writableFinished;
}
