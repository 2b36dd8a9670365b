import { formatSSEErrorEvent, formatSSEEvent } from '@a2a-js/sdk';
import type { A2AError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { becomeStream } from '../../limits/concurrency.limiter.js';
import { SseStreams } from '../../streams/sse.writer.js';
import { a2aErrorOf, a2aProblemOf, EdgeError } from '../a2a.errors.js';

/**
 * Sends the events of a task as server-sent events, at the pace of the client: the next event is read when the send buffer has space.
 * If the server ends the stream, its last event is an error. The client then continues with SubscribeToTask, which needs no cursor.
 */
@Injectable()
export class A2aStreams {
  constructor(private readonly sse: SseStreams) {}

  /** Rejects if the generator fails before its first event: the error is then an ordinary response. */
  async send(
    reply: FastifyReply,
    events: AsyncGenerator<object, void, undefined>,
    errorData: (error: A2AError) => object,
  ): Promise<void> {
    becomeStream(reply); // before the message takes effect
    const first = await events.next();
    const writer = this.sse.open(reply);
    if (!writer) return void (await events.return());
    const fail = (error: A2AError): void => writer.finish(formatSSEErrorEvent(errorData(error)));
    writer.attach({
      onEnd: ({ code, detail }) => fail(new EdgeError(code === 'CREDENTIAL_ENDED' ? 401 : 503, code, detail, { code })),
    });
    try {
      for (let next = first; !next.done; next = await events.next())
        if (!(await writer.send(formatSSEEvent(next.value)))) return;
      writer.finish();
    } catch (error) {
      fail(a2aErrorOf(error, a2aProblemOf(error, reply.request.id)));
    } finally {
      await events.return();
    }
  }
}
