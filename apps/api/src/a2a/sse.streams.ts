import type { A2AError } from '@a2a-js/sdk/errors';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { callerOf } from '../auth/caller.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { beginSse } from '../events/sse.response.js';
import { StreamConnections } from '../events/stream.connections.js';
import { becomeStream } from '../limits/concurrency.limiter.js';
import { a2aProblemOf, toA2aError } from './a2a.errors.js';
import { SseConnection } from './sse.connection.js';

/** Sends the events of a generator as server-sent events. */
@Injectable()
export class SseStreams {
  constructor(
    private readonly connections: StreamConnections,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Rejects if the generator fails before its first event: the error is then an ordinary response. */
  async send(
    reply: FastifyReply,
    events: AsyncGenerator<object, void, undefined>,
    errorData: (error: A2AError) => object,
  ): Promise<void> {
    becomeStream(reply); // before the message takes effect
    const first = await events.next();
    const response = beginSse(reply.request, reply);
    if (!response) return void (await events.return());
    const { buffer, slowAfter: slowAfterMs } = this.config.events;
    const connection = new SseConnection(response, { buffer, slowAfterMs, errorData });
    response.once('close', this.connections.add(callerOf(reply.request), connection));
    try {
      await copy(first, events, connection);
      connection.finish();
    } catch (error) {
      connection.fail(toA2aError(error, a2aProblemOf(error, reply.request.id)));
    } finally {
      await events.return();
    }
  }
}

async function copy(
  first: IteratorResult<object, void>,
  events: AsyncGenerator<object, void, undefined>,
  connection: SseConnection,
): Promise<void> {
  for (let next = first; !next.done; next = await events.next()) {
    if (!(await connection.send(next.value))) return;
  }
}
