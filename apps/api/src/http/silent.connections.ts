import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Ends, when the server closes, the connections on which nothing was ever sent: browsers and gateways open some in advance.
 * Node takes them for busy ones, waits for them, and stops looking at their time limit as soon as it closes.
 */
export function endSilentConnections(server: FastifyInstance): void {
  const connections = new Set<Socket>();
  server.server.on('connection', (socket: Socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.addHook('preClose', (done) => {
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    done();
  });
}
