import type { OutgoingHttpHeaders } from 'node:http';
import { Controller, Get, Headers, Post, Query, Req, Res } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiGoneResponse,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiProduces,
  ApiTags,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CURSOR_PATTERN, formatCursor } from '#rollcall/platform';
import { Caller, callerOf } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { InFlight } from '../http/in-flight.js';
import { Limits } from '../http/route.limits.js';
import { validationFailed } from '../http/validation.error.js';
import { Mutation } from '../mutation/mutation.js';
import { toCloudEvent } from './cloud-event.js';
import { EventStreams } from './event.streams.js';
import { EventsPage, EventsQuery, StreamQuery, TicketView } from './events.dto.js';
import { EventsService } from './events.service.js';
import { SseConnection } from './sse.connection.js';
import { StreamKeeper } from './stream.keeper.js';
import { TicketsService } from './tickets.service.js';

const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
const SSE_EXAMPLE =
  'id: 1042-9f3c27d1\nevent: agent.left\ndata: {"specversion":"1.0","type":"agent.left","sequence":"1042",…}\n\n';

@ApiTags('events')
@Controller('events')
@Permit('events:read')
@ApiGoneResponse({
  description: 'CURSOR_EXPIRED or CURSOR_FOREIGN: take a snapshot from `snapshot`, then continue from its `cursor`.',
})
export class EventsController {
  constructor(
    private readonly events: EventsService,
    private readonly streams: EventStreams,
    private readonly keeper: StreamKeeper,
    private readonly tickets: TicketsService,
    private readonly inFlight: InFlight,
  ) {}

  @Get()
  @Limits({ kind: 'streams' })
  @ApiOperation({
    summary: 'Read events in order, a page at a time',
    description:
      'Pass `next` back as `after`, also when `items` is empty: with a filter, a page looks through a limited number of events. With `waitMs`, an empty page at the end of the log is answered when there is something.',
  })
  @ApiOkResponse({ type: EventsPage })
  async list(@Query() query: EventsQuery, @Res({ passthrough: true }) reply: FastifyReply): Promise<EventsPage> {
    if (query.waitMs > 0) this.inFlight.exempt(reply);
    const { items, next, head, epoch } = await this.events.page(query, hangUpOf(reply));
    const cursorAt = (seq: number): string => formatCursor({ seq, epoch });
    return { items: items.map(toCloudEvent), next: cursorAt(next), head: cursorAt(head) };
  }

  @Get('stream')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    summary: 'Follow events as server-sent events',
    description: 'The `id` of each is the cursor after it, so a browser resumes by itself with `Last-Event-ID`.',
  })
  @ApiHeader({ name: 'Last-Event-ID', required: false, schema: { type: 'string', example: '1041-9f3c27d1' } })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({ schema: { type: 'string', example: SSE_EXAMPLE } })
  async stream(
    @Query() query: StreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { open } = await this.streams.prepare({ ...query, after: readLastEventId(lastEventId) ?? query.after });
    void reply.headers(SSE_HEADERS);
    if (request.method === 'HEAD' || reply.raw.closed) return void reply.send();
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    const connection = new SseConnection(reply.raw);
    const release = this.keeper.keep(callerOf(request), connection);
    reply.raw.once('close', () => {
      release();
      connection.closed();
    });
    connection.follow(() => open(connection));
  }

  @Post('tickets')
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'Get a ticket for one WebSocket',
    description: 'For browsers, which cannot send a header with it. Good once, for 30 seconds, on any replica.',
  })
  @ApiCreatedResponse({ type: TicketView })
  async ticket(@Caller() caller: Principal): Promise<TicketView> {
    return await this.tickets.issue(caller);
  }
}

/** An id that is not a cursor is rejected: to start elsewhere would silently skip events. */
function readLastEventId(id: string | undefined): string | undefined {
  if (!id || CURSOR_PATTERN.test(id)) return id || undefined;
  const message = 'last-event-id must be the id of an event, or be left out';
  throw validationFailed([{ field: 'last-event-id', message }]);
}

/** Aborts when the client closes the connection, so that the wait for events ends. */
function hangUpOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => controller.abort());
  return controller.signal;
}
