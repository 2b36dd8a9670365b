import { Controller, Get, Headers, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiHeader, ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  CURSOR_PATTERN,
  formatCursor,
  type LogPosition,
  type RegistryEvent,
  toCloudEvent,
  toCloudEventText,
} from '#rollcall/platform';
import { closeSignal } from '../http/close.signal.js';
import { Problems } from '../http/problems/problem.docs.js';
import { InFlight } from '../http/server/in-flight.js';
import { Limits } from '../http/server/routes.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { Mutation } from '../mutation/mutation.js';
import { type SseProtocol, SseStreams, type SseWriter } from '../streams/sse.writer.js';
import type { StreamEnd } from '../streams/stream.end.js';
import { type EventStream, EventStreams, type StreamSink } from './event.stream.js';
import { EventsPage, EventsQuery, StreamQuery, TicketView } from './events.dto.js';
import { EventsService } from './events.service.js';
import { TicketsService } from './tickets.service.js';
import { Caller, callerOf, type Principal, visibleTo } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

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
    private readonly sse: SseStreams,
    private readonly tickets: TicketsService,
    private readonly inFlight: InFlight,
  ) {}

  @Get()
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'events.page',
    summary: 'Read a page of events',
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
    if (query.before !== undefined) return await this.listBack(query, caller);
    const { items, next, head, epoch } = await this.events.page(query, visibleTo(caller), closeSignal(reply));
    const cursorAt = (seq: number): string => formatCursor({ seq, epoch });
    return { items: items.map(toCloudEvent), next: cursorAt(next), head: cursorAt(head) };
  }

  private async listBack(query: EventsQuery, caller: Principal): Promise<EventsPage> {
    if (query.waitMs > 0 || query.after !== 'oldest')
      throw validationFailed([{ field: 'before', message: 'before cannot be combined with after or waitMs' }]);
    const { items, next, head, epoch } = await this.events.pageBack(query, visibleTo(caller));
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
    schema: { $ref: '#/components/schemas/EventStreamMessage' },
    description: 'A stream without an end. The messages have these fields: `event`, `id` and `data`.',
  })
  @Problems(...CURSOR_PROBLEMS)
  async stream(
    @Query() query: StreamQuery,
    @Headers('last-event-id') lastEventId: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const after = readLastEventId(lastEventId) ?? query.after;
    const { open } = await this.streams.prepare({ ...query, after }, visibleTo(callerOf(reply.request)));
    const writer = this.sse.open(reply);
    if (writer) new EventSseSink(writer).follow(open);
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

/** Writes the events of the log as server-sent events. The `id` of an event is the cursor after it. */
class EventSseSink implements StreamSink, SseProtocol {
  private stream?: EventStream;

  constructor(private readonly writer: SseWriter) {
    writer.attach(this);
  }

  get buffered(): number {
    return this.writer.buffered;
  }

  get cursor(): string | undefined {
    return this.stream?.cursor;
  }

  follow(open: (sink: StreamSink) => EventStream): void {
    this.writer.write(': connected\n\n');
    this.stream = open(this);
  }

  send(events: readonly RegistryEvent[], epoch: string): void {
    const text = (event: RegistryEvent): string =>
      `id: ${formatCursor({ seq: event.seq, epoch })}\nevent: ${event.type}\ndata: ${toCloudEventText(event)}\n\n`;
    this.writer.write(events.map(text).join(''));
  }

  sendPosition(position: LogPosition): void {
    this.writer.write(`id: ${formatCursor(position)}\n\n`);
  }

  end(reason: StreamEnd): void {
    this.writer.end(reason);
  }

  onEnd(reason: StreamEnd): void {
    this.stream?.close();
    this.writer.finish(`event: end\ndata: ${JSON.stringify(reason)}\n\n`);
  }

  onBeat(): void {
    this.stream?.sendPosition();
  }

  onDrain(): void {
    this.stream?.onDrain();
  }

  onClosed(): void {
    this.stream?.close();
  }
}

/** Rejects an id that is not a cursor: starting at another position would silently skip events. */
function readLastEventId(id: string | undefined): string | undefined {
  if (!id || CURSOR_PATTERN.test(id)) return id || undefined;
  const message = 'last-event-id must be the id of an event, or be left out';
  throw validationFailed([{ field: 'last-event-id', message }]);
}
