import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { toProblem } from '../http/problem.js';
import { SocketDoors } from './socket.doors.js';
import { admitAs } from './socket.principal.js';

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

  /** A gateway without message handlers reads its sockets itself. */
  override bindMessageHandlers(...[client, handlers, transform]: Parameters<WsAdapter['bindMessageHandlers']>): void {
    if (handlers.length > 0) super.bindMessageHandlers(client, handlers, transform);
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
