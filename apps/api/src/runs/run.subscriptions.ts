import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import type { RunStreamEvent } from '#rollcall/agent-runtime';
import type { Principal } from '../auth/principal.js';
import type { SocketConnection } from '../events/socket.connection.js';
import { toProblem } from '../http/problems/problem.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import type { StreamEnd } from '../streams/stream.end.js';
import { runKeyOf } from './run.commands.js';
import { type RunSink, RunStreams, toStreamMessage } from './run.stream.js';
import type { RunSubscriptionBody, SubscribeRunBody } from './runs.dto.js';
import { checkScope } from '../auth/route.access.js';

/** The number is limited, because each subscription reads its run from the database repeatedly. */
const MAX_RUNS = 32;

const TOO_MANY = `runId: this socket follows ${MAX_RUNS} runs, which is the limit. Unsubscribe from one, or open another socket`;

/** Sends the events of single runs on the WebSocket for events. */
@Injectable()
export class RunSubscriptions {
  constructor(private readonly streams: RunStreams) {}

  /** Replaces a subscription to the same run. */
  async open(connection: SocketConnection, caller: Principal, { runId, afterStep }: SubscribeRunBody): Promise<void> {
    checkScope('one', caller);
    const others = connection.names.filter((name) => name !== runId);
    if (others.length >= MAX_RUNS) throw validationFailed([{ field: 'runId', message: TOO_MANY }]);
    const open = await this.streams.prepare(runKeyOf(caller, runId), afterStep);
    if (!connection.open) return;
    connection.sendFrame('run-subscribed', { runId, afterStep });
    const stream = open(new RunSocketSink(connection, runId));
    connection.attach(runId, stream);
    void stream.run();
  }

  close(connection: SocketConnection, { runId }: RunSubscriptionBody): void {
    connection.detach(runId);
    connection.sendFrame('run-unsubscribed', { runId });
  }
}

/** Sends the events of one run as `run` frames, on a socket that other streams also use. */
class RunSocketSink implements RunSink {
  private readonly log = new Logger('runs');

  constructor(
    private readonly connection: SocketConnection,
    private readonly runId: string,
  ) {}

  get buffered(): number {
    return this.connection.buffered;
  }

  send(event: RunStreamEvent): void {
    const { type, data } = toStreamMessage(event);
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
