import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** So long the rest of a request may take when the server closes; it is then turned away with an answer. */
const GRACE_MS = 1_000;

/**
 * Ends, when the server closes, the connections that wait for their client: on which nothing was ever sent, as browsers and
 * gateways open some in advance, and after a while those with half a request. Node takes them for busy ones, waits for them,
 * and stops looking at their time limit as soon as it closes.
 */
export function endSilentConnections(server: FastifyInstance): void {
  /** Each with the answer to its last request. */
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
      for (const [socket, answer] of connections) if (!isWorkedOn(answer)) socket.destroy();
    }, GRACE_MS).unref();
    server.server.once('close', () => clearInterval(timer));
    done();
  });
}

function isWorkedOn(answer: ServerResponse | undefined): boolean {
  return answer !== undefined && answer.req.complete && !answer.writableFinished;
}
