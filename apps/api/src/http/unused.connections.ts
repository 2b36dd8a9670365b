import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** When the server closes, the rest of an incomplete request may take this long. A request that completes is answered. */
const GRACE_MS = 1_000;

/**
 * When the server closes, this closes the connections that wait for their client: immediately those without any data, which
 * browsers and proxies open in advance, and after a delay those with an incomplete request. Node would wait for them, and it
 * does not apply their timeouts while it closes.
 */
export function closeUnusedConnections(server: FastifyInstance): void {
  /** Each connection with the answer to its last request. */
  const connections = new Map<Socket, ServerResponse | undefined>();
  server.server.on('connection', (socket: Socket) => {
    connections.set(socket, undefined);
    socket.once('close', () => connections.delete(socket));
  });
  server.server.on('request', ({ socket }, response) => connections.set(socket, response));
  server.server.on('upgrade', ({ socket }) => connections.delete(socket));
  server.addHook('preClose', (done) => {
    for (const socket of connections.keys()) if (socket.bytesRead === 0) socket.destroy();
    const timer = setInterval(() => {
      for (const [socket, answer] of connections) if (!isInProgress(answer)) socket.destroy();
    }, GRACE_MS).unref();
    server.server.once('close', () => clearInterval(timer));
    done();
  });
}

function isInProgress(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.req.complete && !answer.writableFinished;
}
