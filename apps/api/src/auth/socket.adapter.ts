import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import type { WebSocket, WebSocketServer } from 'ws';
import { ApiError } from '../http/api.error.js';
import { toProblem } from '../http/problem.js';
import { SocketDoors } from './socket.doors.js';
import { admitAs } from './socket.principal.js';
import { tellProblem } from './socket.problem.js';

type Verdict = (ok: boolean, status?: number, body?: string, headers?: Record<string, string>) => void;

const LIMITS = { maxPayload: 64 * 1_024, perMessageDeflate: false };

/** WebSockets with limits, and with every client asked for its credential before it gets its 101. */
export class SocketAdapter extends WsAdapter {
  private readonly log = new Logger('socket');

  constructor(private readonly app: INestApplicationContext) {
    super(app);
  }

  override create(port: number, options: Record<string, unknown> = {}): unknown {
    const verifyClient = ({ req }: { req: IncomingMessage }, verdict: Verdict): void => void this.verify(req, verdict);
    return super.create(port, { ...options, ...LIMITS, verifyClient });
  }

  /** An invalid frame is the client's mistake. It closes the socket with a code that says so, and is no error of ours. */
  override bindErrorHandler(server: WebSocketServer): WebSocketServer {
    server.on('connection', (socket) => {
      socket.on('error', ({ message }) => this.logger.debug({ event: 'socket.invalid_frame', message }));
    });
    server.on('error', (error) => this.logger.error(error));
    return server;
  }

  /** A gateway without message handlers reads its sockets itself. Of the others Nest drops what it does not know. */
  override bindMessageHandlers(...[client, handlers, transform]: Parameters<WsAdapter['bindMessageHandlers']>): void {
    if (handlers.length === 0) return;
    super.bindMessageHandlers(client, handlers, transform);
    const socket = client as WebSocket;
    const known = handlers.map(({ message }) => String(message));
    socket.on('message', (data: Buffer) => {
      if (!known.includes(eventIn(data))) tellProblem(socket, toProblem(unknownMessage(known), randomUUID()).body);
    });
  }

  private async verify(request: IncomingMessage, verdict: Verdict): Promise<void> {
    try {
      admitAs(request, await this.app.get(SocketDoors, { strict: false }).admit(request));
      verdict(true);
    } catch (error) {
      const { status, headers, body, unexpected } = toProblem(error, randomUUID());
      if (unexpected) this.log.error({ event: 'socket.unexpected_error', err: error });
      verdict(false, status, JSON.stringify(body), headers);
    }
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
