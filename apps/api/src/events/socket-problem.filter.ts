import { randomUUID } from 'node:crypto';
import { type ArgumentsHost, Catch, Logger, type WsExceptionFilter } from '@nestjs/common';
import { isUnusableCursor } from '#rollcall/registry';
import type { WebSocket } from 'ws';
import { tellProblem } from '../auth/socket.problem.js';
import { toProblem } from '../http/problem.js';
import { CLOSE_CODES } from './stream.end.js';

/** What HTTP answers as problem+json, as an `error` frame. A cursor that is of no use also ends the connection. */
@Catch()
export class SocketProblemFilter implements WsExceptionFilter {
  private readonly log = new Logger('socket');

  catch(error: unknown, host: ArgumentsHost): void {
    const socket = host.switchToWs().getClient<WebSocket>();
    const { body, unexpected } = toProblem(error, randomUUID());
    if (unexpected) this.log.error({ event: 'socket.unexpected_error', requestId: body['requestId'], err: error });
    tellProblem(socket, body);
    if (isUnusableCursor(error)) {
      socket.close(CLOSE_CODES[error.code], JSON.stringify({ code: error.code, snapshot: body['snapshot'] }));
    }
  }
}
