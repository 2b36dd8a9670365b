import { randomUUID } from 'node:crypto';
import { type ArgumentsHost, Catch, Logger, type WsExceptionFilter } from '@nestjs/common';
import type { WebSocket } from 'ws';
import { isUnusableCursor } from '#rollcall/platform';
import { sendProblem } from '../auth/sockets/socket.adapter.js';
import { toProblem } from '../http/problems/problem.js';
import { CLOSE_CODES, TRY_AGAIN_LATER } from './stream.end.js';

const MAX_RUN_ID = 128;

/**
 * Sends errors as `error` frames with the members of problem+json. An unusable cursor or an error of the server (5xx) also
 * closes the connection: a consumer must not wait on a socket without a subscription.
 */
@Catch()
export class SocketProblemFilter implements WsExceptionFilter {
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

/** The run that the message of the client concerns, so that the client can assign the error to its subscription. */
function runOf(data: unknown): { runId?: string } {
  const { runId } = (data ?? {}) as { runId?: unknown };
  return typeof runId === 'string' && runId.length <= MAX_RUN_ID ? { runId } : {};
}
