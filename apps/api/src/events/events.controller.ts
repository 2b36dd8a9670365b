import { Controller, Get, Headers, Post, Query, Req, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CURSOR_PATTERN, formatCursor, toCloudEvent } from '#rollcall/platform';
import { Caller, callerOf } from '../auth/caller.js';
import { Scope } from '../auth/namespace.scope.js';
import { type Principal, visibleTo } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { closeSignal } from '../http/close.signal.js';
import { Problems } from '../http/problems/problem.docs.js';
import { InFlight } from '../http/server/in-flight.js';
import { Limits } from '../http/server/routes.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { Mutation } from '../mutation/mutation.js';
import { EventStreams } from './event.streams.js';
import { CloudEventView, EventsPage, EventsQuery, StreamQuery, TicketView } from './events.dto.js';
import { EventsService } from './events.service.js';
import { SseConnection } from './sse.connection.js';
import { beginSse } from './sse.response.js';
import { StreamConnections } from './stream.connections.js';
import { TicketsService } from './tickets.service.js';

/** Errors for cursors from which a consumer cannot continue. */
const CURSOR_PROBLEMS = [
  'CURSOR_AHEAD',
  {
    CURSOR_EXPIRED: 'Read the snapshot at `snapshot`, then continue from its `cursor`.',
    CURSOR_FOREIGN: 'The cursor belongs to another event log. Read the snapshot at `snapshot`.',
  },
] as const;

@ApiTags('events')
@Controller('events')
@Permit('events:read')
@Scope('any')
export class EventsController {
  constructor(
    private readonly events: EventsService,
    private readonly streams: EventStreams,
    private readonly connections: StreamConnections,
    private readonly tickets: TicketsService,
    private readonly inFlight: InFlight,
  ) {}

  @Get()
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'events.page',
    summary: 'Read a page of events in order',
    description:
      'Send `next` as `after` to get the next page, even when `items` is empty: with a filter, a request searches a limited ' +
      'number of events. With `waitMs`, a request at the end of the log waits for the next event.',
  })
  @ApiOkResponse({ type: EventsPage, description: 'A page of events.' })
  @Problems('EVENTS_BUSY', ...CURSOR_PROBLEMS)
  async list(
    @Query() query: EventsQuery,
    @Caller() caller: Principal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<EventsPage> {
    if (query.waitMs > 0) this.inFlight.exempt(reply);
    const { items, next, head, epoch } = await this.events.page(query, visibleTo(caller), closeSignal(reply));
    const cursorAt = (seq: number): string => formatCursor({ seq, epoch });
    return { items: items.map(toCloudEvent), next: cursorAt(next), head: cursorAt(head) };
  }

  @Get('stream')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'events.stream',
    summary: 'Follow events as server-sent events',
    description: 'The `id` of each event is the cursor after it, so a browser resumes with `Last-Event-ID`.',
  })
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The `id` of the last event you have.',
    schema: { type: 'string' },
  })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({
    type: CloudEventView,
    description: 'A stream without an end. The `data` of each event is this object.',
  })
  @Problems(...CURSOR_PROBLEMS)
  async stream(
    @Query() query: StreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const caller = callerOf(request);
    const after = readLastEventId(lastEventId) ?? query.after;
    const { open } = await this.streams.prepare({ ...query, after }, visibleTo(caller));
    const response = beginSse(request, reply);
    if (!response) return;
    const connection = new SseConnection(response);
    const release = this.connections.add(caller, connection);
    response.once('close', () => {
      release();
      connection.onClosed();
    });
    connection.follow(() => open(connection));
  }

  @Post('tickets')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'events.createTicket',
    summary: 'Create a ticket for one WebSocket',
    description:
      'For browsers, which cannot send headers with a WebSocket. The ticket is valid once, for 30 seconds, on any replica. The WebSocket ' +
      'shows the events of the namespace of this request.',
  })
  @ApiCreatedResponse({ type: TicketView, description: 'The ticket.' })
  async ticket(@Caller() caller: Principal): Promise<TicketView> {
    return await this.tickets.issue(caller);
  }
}

/** Rejects an id that is not a cursor: starting at another position would silently skip events. */
function readLastEventId(id: string | undefined): string | undefined {
  if (!id || CURSOR_PATTERN.test(id)) return id || undefined;
  const message = 'last-event-id must be the id of an event, or be left out';
  throw validationFailed([{ field: 'last-event-id', message }]);
}
