import { Injectable } from '@nestjs/common';
import { checkScope } from '../auth/namespace.scope.js';
import type { Principal } from '../auth/principal.js';
import type { SocketConnection } from '../events/socket.connection.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { RunSocketSink } from './run-socket.sink.js';
import type { RunSubscriptionBody, SubscribeRunBody } from './run-stream.dto.js';
import { RunStreams } from './run.streams.js';

/** The number is limited, because each subscription reads its run from the database repeatedly. */
const MAX_RUNS = 32;

/** Sends the events of single runs on the WebSocket for events. */
@Injectable()
export class RunSubscriptions {
  constructor(private readonly streams: RunStreams) {}

  /** Replaces a subscription to the same run. */
  async open(connection: SocketConnection, caller: Principal, { runId, afterStep }: SubscribeRunBody): Promise<void> {
    checkScope('one', caller);
    const others = connection.names.filter((name) => name !== runId);
    if (others.length >= MAX_RUNS) throw validationFailed([{ field: 'runId', message: TOO_MANY }]);
    const open = await this.streams.prepare({ namespace: caller.namespace, id: runId }, afterStep);
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

const TOO_MANY = `runId: this socket follows ${MAX_RUNS} runs, which is the limit. Unsubscribe from one, or open another socket`;
