import { randomUUID } from 'node:crypto';
import { type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import type { WebSocket, WebSocketServer } from 'ws';
import { ApiError } from '../../http/problems/api.error.js';
import { toProblem } from '../../http/problems/problem.js';
import { newRequestId } from '../../http/server/request.context.js';
import { API_HEADERS } from '../../http/server/server.js';
import { setPrincipal } from '../principal.js';
import { SocketAccess } from './socket.access.js';

const LIMITS = { maxPayload: 64 * 1_024, perMessageDeflate: false };

/**
 * WebSockets with limits. Clients are authenticated before the response 101. Every rejected upgrade request gets an HTTP response:
 * without one, a proxy would count the closed connection as a failure of the replica.
 */
export class SocketAdapter extends WsAdapter {
  private readonly servers = new Map<string, WebSocketServer>();

  constructor(private readonly app: INestApplicationContext) {
    super(app);
  }

  override create(port: number, options: { path?: string } = {}): unknown {
    const server = super.create(port, { ...options, ...LIMITS }) as WebSocketServer;
    server.on('wsClientError', (error, socket) =>
      rejectUpgrade(socket, new ApiError('MALFORMED_REQUEST', error.message)),
    );
    this.servers.set(options.path ?? '/', server);
    return server;
  }

  /** Replaces the listener of Nest, which destroys connections to unknown paths. */
  protected override ensureHttpServerExists(port: number, httpServer?: Server): Server | undefined {
    if (!httpServer || this.httpServersRegistry.has(port)) return undefined;
    this.httpServersRegistry.set(port, httpServer);
    httpServer.on('upgrade', (request, socket, head) => void this.upgrade(request, socket, head));
    return httpServer;
  }

  /** Errors of single sockets are handled in `onConnection`: Nest would log a client's invalid frame as an error of the server. */
  override bindErrorHandler(server: WebSocketServer): WebSocketServer {
    return server.on('error', (error) => this.logger.error(error));
  }

  /**
   * A gateway without message handlers reads its sockets itself. For other gateways, Nest ignores unknown messages; here they
   * get an error.
   */
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
      setPrincipal(request, principal);
      server.handleUpgrade(request, socket, head, (client) => this.onConnection(client, request, server));
    } catch (error) {
      rejectUpgrade(socket, error);
    }
  }

  /** An invalid frame closes the socket with a code that names the mistake; the server only logs it for debugging. */
  private onConnection(client: WebSocket, request: IncomingMessage, server: WebSocketServer): void {
    client.on('error', ({ message }) => this.logger.debug({ event: 'socket.invalid_frame', message }));
    server.emit('connection', client, request);
  }

  private serverFor({ url = '/' }: IncomingMessage): WebSocketServer {
    const path = url.split('?', 1)[0] ?? '';
    const server = this.servers.get(path);
    if (server) return server;
    throw new ApiError('ROUTE_NOT_FOUND', 'There is no WebSocket at this path. Leave out the Upgrade header.');
  }
}

/** `ws` passes a text frame as one Buffer. */
function eventIn(frame: Buffer): string {
  try {
    return String((JSON.parse(frame.toString()) as { event?: unknown } | null)?.event);
  } catch {
    return ''; // the caller rejects the frame and states the format
  }
}

function unknownMessage(known: readonly string[]): ApiError {
  return new ApiError(
    'MALFORMED_REQUEST',
    `Send frames as JSON text: {"event":"${known[0]}","data":{…}}. Accepted events: ${known.join(', ')}.`,
  );
}

const log = new Logger('socket');

/** Rejects an upgrade request with an ordinary HTTP response and closes the connection. */
export function rejectUpgrade(socket: Duplex, error: unknown): void {
  const requestId = newRequestId();
  const { status, headers, body, unexpected } = toProblem(error, requestId);
  if (unexpected) log.error({ event: 'socket.unexpected_error', requestId, err: error });
  const text = JSON.stringify(body);
  const all = {
    ...API_HEADERS,
    ...headers,
    'x-request-id': requestId,
    'content-length': String(Buffer.byteLength(text)),
    connection: 'close',
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.once('finish', () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${text}`);
}

const MAX_UNREAD_BYTES = 4 << 20;

/** Answers an invalid message. A client that sends messages without reading the responses is disconnected. */
export function sendProblem(socket: WebSocket, problem: Record<string, unknown>): void {
  if (socket.bufferedAmount > MAX_UNREAD_BYTES) return socket.terminate();
  socket.send(JSON.stringify({ event: 'error', data: problem }));
}
