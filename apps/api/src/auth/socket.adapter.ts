import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { INestApplicationContext } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import type { WebSocket, WebSocketServer } from 'ws';
import { ApiError } from '../http/api.error.js';
import { toProblem } from '../http/problem.js';
import { SocketAccess } from './socket.access.js';
import { admitAs } from './socket.principal.js';
import { sendProblem } from './socket.problem.js';
import { refuseUpgrade } from './socket.refusal.js';

const LIMITS = { maxPayload: 64 * 1_024, perMessageDeflate: false };

/**
 * WebSockets with limits, and with every client asked for its credential before it gets its 101. A request to upgrade that is
 * refused, for whatever reason, gets an HTTP answer: a proxy takes a connection that ends without one for a failed replica.
 */
export class SocketAdapter extends WsAdapter {
  private readonly servers = new Map<string, WebSocketServer>();

  constructor(private readonly app: INestApplicationContext) {
    super(app);
  }

  override create(port: number, options: { path?: string } = {}): unknown {
    const server = super.create(port, { ...options, ...LIMITS }) as WebSocketServer;
    server.on('wsClientError', (error, socket) =>
      refuseUpgrade(socket, new ApiError('MALFORMED_REQUEST', error.message)),
    );
    this.servers.set(options.path ?? '/', server);
    return server;
  }

  /** In the place of Nest's own listener, which destroys connections to paths it does not know. */
  protected override ensureHttpServerExists(port: number, httpServer?: Server): Server | undefined {
    if (!httpServer || this.httpServersRegistry.has(port)) return undefined;
    this.httpServersRegistry.set(port, httpServer);
    httpServer.on('upgrade', (request, socket, head) => void this.upgrade(request, socket, head));
    return httpServer;
  }

  /** Errors of single sockets are handled in `welcome`: Nest would log a client's invalid frame as an error of the server. */
  override bindErrorHandler(server: WebSocketServer): WebSocketServer {
    return server.on('error', (error) => this.logger.error(error));
  }

  /** A gateway without message handlers reads its sockets itself. Of the others Nest drops what it does not know. */
  override bindMessageHandlers(...[client, handlers, transform]: Parameters<WsAdapter['bindMessageHandlers']>): void {
    if (handlers.length === 0) return;
    super.bindMessageHandlers(client, handlers, transform);
    const socket = client as WebSocket;
    const known = handlers.map(({ message }) => String(message));
    socket.on('message', (data: Buffer) => {
      if (!known.includes(eventIn(data))) sendProblem(socket, toProblem(unknownMessage(known), randomUUID()).body);
    });
  }

  private async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      const server = this.serverFor(request);
      const { principal, release } = await this.app.get(SocketAccess, { strict: false }).admit(request);
      if (socket.destroyed) return release();
      socket.once('close', release);
      admitAs(request, principal);
      server.handleUpgrade(request, socket, head, (client) => this.welcome(client, request, server));
    } catch (error) {
      refuseUpgrade(socket, error);
    }
  }

  /** An invalid frame closes the socket with a code that names the mistake; the server only logs it for debugging. */
  private welcome(client: WebSocket, request: IncomingMessage, server: WebSocketServer): void {
    client.on('error', ({ message }) => this.logger.debug({ event: 'socket.invalid_frame', message }));
    server.emit('connection', client, request);
  }

  private serverFor({ url = '/' }: IncomingMessage): WebSocketServer {
    const path = url.split('?', 1)[0] ?? '';
    const server = this.servers.get(path);
    if (server) return server;
    throw new ApiError('ROUTE_NOT_FOUND', 'No WebSocket is served at this address. Leave out the Upgrade header.');
  }
}

/** Text frames come as one Buffer. */
function eventIn(frame: Buffer): string {
  try {
    return String((JSON.parse(frame.toString()) as { event?: unknown } | null)?.event);
  } catch {
    return ''; // the caller says what a frame looks like
  }
}

function unknownMessage(known: readonly string[]): ApiError {
  return new ApiError(
    'MALFORMED_REQUEST',
    `A frame is JSON text: {"event":"${known[0]}","data":{…}}. The events you can send: ${known.join(', ')}.`,
  );
}
