import { randomUUID } from 'node:crypto';
import { type ArgumentsHost, Catch, Logger, type WsExceptionFilter } from '@nestjs/common';
import type { WebSocket } from 'ws';
import { isUnusableCursor } from '#rollcall/platform';
import { sendProblem } from '../auth/socket.problem.js';
import { toProblem } from '../http/problem.js';
import { CLOSE_CODES, TRY_AGAIN_LATER } from './stream.end.js';

/**
 * Sends what HTTP answers as problem+json as an `error` frame. An unusable cursor also closes the connection, and so does a
 * fault on our side (5xx): a consumer must not wait on a socket that has no subscription.
 */
@Catch()
export class SocketProblemFilter implements WsExceptionFilter {
  private readonly log = new Logger('socket');

  catch(error: unknown, host: ArgumentsHost): void {
    const socket = host.switchToWs().getClient<WebSocket>();
    const { status, body, unexpected } = toProblem(error, randomUUID());
    if (unexpected) this.log.error({ event: 'socket.unexpected_error', requestId: body['requestId'], err: error });
    sendProblem(socket, body);
    if (isUnusableCursor(error)) {
      socket.close(CLOSE_CODES[error.code], JSON.stringify({ code: error.code, snapshot: body['snapshot'] }));
    } else if (status >= 500) socket.close(TRY_AGAIN_LATER, JSON.stringify({ code: body['code'] }));
  }
}
