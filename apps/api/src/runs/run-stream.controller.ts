import { Controller, Get, Headers, Logger, Param, Query, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { isFinal, type RunStreamEvent } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Limits } from '../http/server/routes.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { type SseProtocol, SseStreams, type SseWriter } from '../streams/sse.writer.js';
import type { StreamEnd } from '../streams/stream.end.js';
import { runKeyOf } from './run.commands.js';
import { type RunSink, type RunStream, RunStreams, toStreamMessage } from './run.stream.js';
import { RUN_ID_PARAM, RunStreamQuery } from './runs.dto.js';
import { callerOf } from '../auth/principal.js';

/** The suffix of the `id` of the last state. A client that has received this `id` has received the whole stream. */
const LAST = '-end';
const EVENT_ID = new RegExp(`^\\d{1,9}(${LAST})?$`);

@ApiTags('runs')
@Controller('runs')
export class RunStreamController {
  constructor(
    private readonly streams: RunStreams,
    private readonly sse: SseStreams,
  ) {}

  @Get(':id/stream')
  @Permit('runs:read')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'runs.stream',
    summary: 'Follow a run as server-sent events',
    description:
      'Sends the steps of the run as `step` events, its state as `state` events, and pieces of the answer as `text`, `reasoning` ' +
      'and `progress` events while they are generated. The `id` of a step is its number, so a client resumes on any replica ' +
      'with `Last-Event-ID` and gets each step once. The stream ends after the last state.',
  })
  @ApiParam(RUN_ID_PARAM)
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The `id` of the last event you have.',
    schema: { type: 'string' },
  })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    schema: { $ref: '#/components/schemas/RunStreamMessage' },
    description: 'The messages of the stream, with their `event`, `id` and `data`.',
  })
  @Problems('RUN_NOT_FOUND')
  async stream(
    @Param('id') id: string,
    @Query() query: RunStreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const key = runKeyOf(callerOf(reply.request), id);
    const last = readLastEventId(lastEventId);
    if (last?.isEnd) {
      if (!(await this.streams.isEnd(key, last.step))) throw notAnEvent();
      return void reply.code(204).send(); // a browser then stops reconnecting
    }
    const open = last
      ? await this.streams.prepare(key, last.step, notAnEvent)
      : await this.streams.prepare(key, query.afterStep);
    const writer = this.sse.open(reply);
    if (writer) void new RunSseSink(writer).follow(open);
  }
}

/** Writes the events of a run as server-sent events. The `id` of a step is its number. */
class RunSseSink implements RunSink, SseProtocol {
  private readonly log = new Logger('runs');
  private stream?: RunStream;

  constructor(private readonly writer: SseWriter) {
    writer.attach(this);
  }

  get buffered(): number {
    return this.writer.buffered;
  }

  async follow(open: (sink: RunSink) => RunStream): Promise<void> {
    this.writer.write(': connected\n\n');
    this.stream = open(this);
    await this.stream.run();
  }

  send(event: RunStreamEvent, lastStep: number): void {
    const { type, data } = toStreamMessage(event);
    this.writer.write(`${idOf(event, lastStep)}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  finish(): void {
    this.writer.finish();
  }

  end(reason: StreamEnd): void {
    this.writer.end(reason);
  }

  fail(error: unknown): void {
    this.log.error({ event: 'runs.stream_failed', err: error });
    this.writer.disconnect();
  }

  /** A client resumes with `afterStep`, and not with a cursor. */
  onEnd({ code, detail }: StreamEnd): void {
    this.stream?.close();
    const reason = { code, detail, afterStep: this.stream?.afterStep };
    this.writer.finish(`event: end\ndata: ${JSON.stringify(reason)}\n\n`);
  }

  onDrain(): void {
    this.stream?.onDrain();
  }

  onClosed(): void {
    this.stream?.close();
  }
}

function idOf(event: RunStreamEvent, lastStep: number): string {
  if (event.type === 'step') return `id: ${lastStep}\n`;
  return event.type === 'state' && isFinal(event.run.state) ? `id: ${lastStep}${LAST}\n` : '';
}

/** Rejects an id that no event of this stream has: starting at another position would silently omit steps. */
function readLastEventId(id: string | undefined): { step: number; isEnd: boolean } | undefined {
  if (!id) return undefined;
  if (EVENT_ID.test(id)) return { step: Number.parseInt(id, 10), isEnd: id.endsWith(LAST) };
  throw notAnEvent();
}

function notAnEvent(): Error {
  const message = 'last-event-id must be the id of an event of this stream, or be left out';
  return validationFailed([{ field: 'last-event-id', message }]);
}
