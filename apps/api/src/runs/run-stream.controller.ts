import { Controller, Get, Headers, Param, Query, Req, Res } from '@nestjs/common';
import { ApiHeader, ApiOkResponse, ApiOperation, ApiParam, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { Permit } from '../auth/route.access.js';
import { beginSse } from '../events/sse.response.js';
import { StreamConnections } from '../events/stream.connections.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { LAST, RunSseConnection } from './run-sse.connection.js';
import { RunStreamQuery } from './run-stream.dto.js';
import { RunStreams } from './run.streams.js';
import { RunStepView } from './run.view.js';
import { RUN_ID } from './runs.examples.js';
import { Limits } from '../http/server/routes.js';
import { Problems } from '../http/problems/problem.docs.js';

const EVENT_ID = new RegExp(`^\\d{1,9}(${LAST})?$`);

@ApiTags('runs')
@Controller('runs')
export class RunStreamController {
  constructor(
    private readonly streams: RunStreams,
    private readonly connections: StreamConnections,
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
  @ApiParam(RUN_ID)
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The `id` of the last event you have.',
    schema: { type: 'string' },
  })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    type: RunStepView,
    description: 'The `data` of a `step` event is this object; the `data` of a `state` event is the run.',
  })
  @Problems('RUN_NOT_FOUND')
  async stream(
    @Param('id') id: string,
    @Query() query: RunStreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const caller = callerOf(request);
    const key = { namespace: caller.namespace, id };
    const last = readLastEventId(lastEventId);
    if (last?.isEnd) {
      if (!(await this.streams.isEnd(key, last.step))) throw notAnEvent();
      return void reply.code(204).send(); // a browser then stops reconnecting
    }
    const open = last
      ? await this.streams.prepare(key, last.step, notAnEvent)
      : await this.streams.prepare(key, query.afterStep);
    const response = beginSse(request, reply);
    if (!response) return;
    const connection = new RunSseConnection(response);
    const release = this.connections.add(caller, connection);
    response.once('close', () => {
      release();
      connection.onClosed();
    });
    void connection.follow(open);
  }
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
