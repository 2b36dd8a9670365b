import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type ArgumentsHost, Catch, Logger, UseFilters, type WsExceptionFilter } from '@nestjs/common';
import {
  ConnectedSocket,
  MessageBody,
  type OnGatewayConnection,
  SubscribeMessage,
  WebSocketGateway,
} from '@nestjs/websockets';
import type { WebSocket } from 'ws';
import { formatCursor, isUnusableCursor, parseCursor, type VisibleNamespaces } from '#rollcall/platform';
import { principalOf, setPrincipal, visibleTo } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { SocketAccess } from '../auth/sockets/socket.access.js';
import { sendProblem } from '../auth/sockets/socket.adapter.js';
import { toProblem } from '../http/problems/problem.js';
import { shortName, validationFailed } from '../http/validation/validation.errors.js';
import { RunSubscriptions } from '../runs/run.subscriptions.js';
import { RunSubscriptionBody, SubscribeRunBody } from '../runs/runs.dto.js';
import { FrameSocket } from '../streams/frame.socket.js';
import { StreamConnections } from '../streams/stream.connections.js';
import { CLOSE_CODES, TRY_AGAIN_LATER } from '../streams/stream.end.js';
import { EventStreams } from './event.stream.js';
import { AckBody, SubscribeBody } from './events.dto.js';
import { SocketConnection } from './socket.connection.js';
import { TicketsService } from './tickets.service.js';

const PATH = '/v1/events/ws';

const MAX_RUN_ID = 128;

interface OpenSocket {
  connection: SocketConnection;
  /** The namespaces whose events the socket may send. */
  visible: VisibleNamespaces;
}

/**
 * Sends errors as `error` frames with the members of problem+json. An unusable cursor or an error of the server (5xx) also
 * closes the connection: a consumer must not wait on a socket without a subscription.
 */
@Catch()
class SocketProblemFilter implements WsExceptionFilter {
  private readonly log = new Logger('socket');

  catch(error: unknown, host: ArgumentsHost): void {
    const ws = host.switchToWs();
    const socket = ws.getClient<WebSocket>();
    const { status, body, unexpected } = toProblem(error, randomUUID());
    if (unexpected) this.log.error({ event: 'socket.unexpected_error', requestId: body['requestId'], err: error });
    sendProblem(socket, { ...body, ...runOf(ws.getData<unknown>()) });
    if (isUnusableCursor(error)) {
      socket.close(CLOSE_CODES[error.code], JSON.stringify({ code: error.code, snapshot: body['snapshot'] }));
    } else if (status >= 500) socket.close(TRY_AGAIN_LATER, JSON.stringify({ code: body['code'] }));
  }
}

/**
 * Events over a WebSocket. The client sends `subscribe` and `ack`; the server sends `subscribed`, `events`, `position`, `error`
 * and `end`. For the events of single runs, the client sends `subscribe-run` and `unsubscribe-run`; the server sends
 * `run-subscribed`, `run` and `run-unsubscribed`.
 */
@WebSocketGateway({ path: PATH })
@UseFilters(new SocketProblemFilter())
@Permit('events:read')
export class EventsGateway implements OnGatewayConnection<WebSocket> {
  private readonly sockets = new WeakMap<WebSocket, OpenSocket>();

  constructor(
    private readonly streams: EventStreams,
    private readonly connections: StreamConnections,
    private readonly runs: RunSubscriptions,
    access: SocketAccess,
    tickets: TicketsService,
  ) {
    access.declare(PATH, {
      permission: 'events:read',
      scope: 'any',
      redeem: async (ticket) => await tickets.redeem(ticket),
      check: async (query) => {
        checkQuery(query);
        await this.streams.check();
      },
    });
  }

  handleConnection(socket: WebSocket, request: IncomingMessage): void {
    const principal = principalOf(request);
    setPrincipal(socket, principal);
    const connection = new SocketConnection(new FrameSocket(socket));
    this.sockets.set(socket, { connection, visible: visibleTo(principal) });
    const release = this.connections.add(principal, connection);
    socket.once('close', () => {
      release();
      connection.onClosed();
    });
  }

  /** A second subscription replaces the first one, even if the first one has not started yet. */
  @SubscribeMessage('subscribe')
  async subscribe(@MessageBody() body: SubscribeBody, @ConnectedSocket() socket: WebSocket): Promise<void> {
    const open = this.sockets.get(socket);
    if (!open) return;
    const { connection, visible } = open;
    await connection.enqueue(async () => {
      const stream = await this.streams.prepare(body, visible);
      if (!connection.open) return;
      connection.sendFrame('subscribed', { after: formatCursor(stream.after) });
      connection.follow(() => stream.open(connection));
    });
  }

  @SubscribeMessage('ack')
  acknowledge(@MessageBody() { sequence }: AckBody, @ConnectedSocket() socket: WebSocket): void {
    this.sockets.get(socket)?.connection.acknowledge(parseCursor(sequence).seq);
  }

  @SubscribeMessage('subscribe-run')
  @Permit('runs:read')
  async subscribeRun(@MessageBody() body: SubscribeRunBody, @ConnectedSocket() socket: WebSocket): Promise<void> {
    const connection = this.sockets.get(socket)?.connection;
    await connection?.enqueue(async () => await this.runs.open(connection, principalOf(socket), body));
  }

  @SubscribeMessage('unsubscribe-run')
  @Permit('runs:read')
  async unsubscribeRun(@MessageBody() body: RunSubscriptionBody, @ConnectedSocket() socket: WebSocket): Promise<void> {
    const connection = this.sockets.get(socket)?.connection;
    await connection?.enqueue(async () => await Promise.resolve(this.runs.close(connection, body)));
  }
}

/** Rejects filters and cursors in the URL, where they would have no effect. */
function checkQuery(query: URLSearchParams): void {
  const others = [...query.keys()].filter((name) => name !== 'ticket');
  if (others.length === 0) return;
  const message = 'is not a parameter of this WebSocket: send it in the `data` of a `subscribe` frame';
  throw validationFailed(others.map(shortName).map((field) => ({ field, message: `${field} ${message}` })));
}

/** The run that the message of the client concerns, so that the client can assign the error to its subscription. */
function runOf(data: unknown): { runId?: string } {
  const { runId } = (data ?? {}) as { runId?: unknown };
  return typeof runId === 'string' && runId.length <= MAX_RUN_ID ? { runId } : {};
}
