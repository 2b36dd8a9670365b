import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import type { RunStreamEvent } from '#rollcall/agent-runtime';
import type { SocketConnection } from '../events/socket.connection.js';
import type { StreamEnd } from '../events/stream.end.js';
import { toProblem } from '../http/problems/problem.js';
import { toMessage } from './run.message.js';
import type { RunSink } from './run.stream.js';

/** Sends the events of one run as `run` frames, on a socket that other streams also use. */
export class RunSocketSink implements RunSink {
  private readonly log = new Logger('runs');

  constructor(
    private readonly connection: SocketConnection,
    private readonly runId: string,
  ) {}

  get buffered(): number {
    return this.connection.buffered;
  }

  send(event: RunStreamEvent): void {
    const { type, data } = toMessage(event);
    this.connection.sendFrame('run', { runId: this.runId, type, data });
  }

  finish(): void {
    this.connection.detach(this.runId);
  }

  /** Ends the whole connection: its other streams have the same problem. */
  end({ code, detail }: StreamEnd): void {
    this.connection.end({ code, detail, after: this.connection.cursor });
  }

  fail(error: unknown): void {
    const { status, body, unexpected } = toProblem(error, randomUUID());
    if (unexpected) this.log.error({ event: 'runs.stream_failed', runId: this.runId, err: error });
    if (status >= 500) return this.connection.fail(body);
    this.connection.detach(this.runId);
    this.connection.sendFrame('error', { ...body, runId: this.runId });
  }
}
