import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateBy,
} from 'class-validator';
import { type CloudEvent, CURSOR_PATTERN, TYPE_PREFIX } from '#rollcall/platform';
import type { Variants } from '../http/one.of.js';
import { MAX_WAIT_MS } from '../http/server/in-flight.js';
import { Optional, QueryNumber } from '../http/validation/fields.js';
import { StreamEndMessage } from '../streams/stream.message.view.js';
import { EVENTS } from './event.catalog.js';

const MAX_PAGE_SIZE = 1_000;
const DEFAULT_PAGE_SIZE = 100;
const MAX_NAMES = 200;
const MAX_WINDOW = 10_000;
const START_PATTERN = new RegExp(`${CURSOR_PATTERN.source}|^(oldest|latest)$`);
const BEFORE_PATTERN = new RegExp(`${CURSOR_PATTERN.source}|^latest$`);
const A_CURSOR = 'a cursor such as 1042-9f3c27d1, or a sequence such as 1042';

/** A cursor, a sequence, `oldest` or `latest`. */
export const IsStart = (): PropertyDecorator =>
  Matches(START_PATTERN, { message: `$property must be oldest, latest, ${A_CURSOR}` });
/** A cursor or a sequence. */
export const IsCursor = (): PropertyDecorator => Matches(CURSOR_PATTERN, { message: `$property must be ${A_CURSOR}` });

/** Accepts `a,b` in a query string and a list in JSON. */
const List = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value));

const KnownType = (): PropertyDecorator =>
  ValidateBy(
    {
      name: 'knownType',
      validator: {
        validate: (value) => typeof value === 'string' && EVENTS.select(value).length > 0,
        defaultMessage: () =>
          `types must be event types or patterns such as agent.*; the types are: ${EVENTS.types.join(', ')}`,
      },
    },
    { each: true },
  );

export class EventFilterQuery {
  @ApiPropertyOptional({
    type: [String],
    description:
      'Only events of these types. `agent.*` means all types that start with `agent.`. The prefix `dev.rollcall.` may be omitted.',
    example: ['agent.*', 'circuit.opened'],
  })
  @IsOptional()
  @List()
  @KnownType()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_NAMES)
  types?: string[];

  @ApiPropertyOptional({
    type: [String],
    description: 'Only events about these agents.',
    example: ['builder-01'],
  })
  @IsOptional()
  @List()
  @Length(1, 300, { each: true })
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_NAMES)
  agentIds?: string[];

  @ApiPropertyOptional({
    type: [String],
    description: 'Only events about agents with one of these capabilities.',
    example: ['build'],
  })
  @IsOptional()
  @List()
  @Length(1, 300, { each: true })
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_NAMES)
  capabilities?: string[];
}

export class EventsQuery extends EventFilterQuery {
  @ApiPropertyOptional({
    description:
      'Where to continue: the `next` of the previous page, the `sequence` of the last event you have, `oldest` or `latest`.',
    default: 'oldest',
    example: 'oldest',
  })
  @IsOptional()
  @IsString()
  @IsStart()
  after: string = 'oldest';

  @ApiPropertyOptional({
    description:
      'Reads backwards, the newest events first: `latest`, or the `next` of the previous page. It cannot be combined with `after` or `waitMs`.',
    example: 'latest',
  })
  @IsOptional()
  @IsString()
  @Matches(BEFORE_PATTERN, { message: `before must be latest, ${A_CURSOR}` })
  before?: string;

  @ApiPropertyOptional({
    type: 'integer',
    default: DEFAULT_PAGE_SIZE,
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    example: DEFAULT_PAGE_SIZE,
    description: 'The maximum number of events to return.',
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(MAX_PAGE_SIZE)
  limit: number = DEFAULT_PAGE_SIZE;

  @ApiPropertyOptional({
    type: 'integer',
    description: 'How long to wait for the next event, in milliseconds, if there is none yet.',
    default: 0,
    example: 0,
    minimum: 0,
    maximum: MAX_WAIT_MS,
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(0)
  @Max(MAX_WAIT_MS)
  waitMs: number = 0;
}

export class StreamQuery extends EventFilterQuery {
  @ApiPropertyOptional({
    description: 'Where to start: a cursor, a `sequence`, `oldest` or `latest`. `Last-Event-ID` has precedence.',
    default: 'latest',
    example: 'latest',
  })
  @Optional('latest')
  @IsString()
  @IsStart()
  after: string = 'latest';
}

/** The `data` of a `subscribe` frame. */
export class SubscribeBody extends StreamQuery {
  /** No further batch is sent while this many events are not acknowledged. Absent: acknowledgements are not needed. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(MAX_WINDOW)
  window?: number;
}

/** The `data` of an `ack` frame. */
export class AckBody {
  @IsString()
  @IsCursor()
  sequence: string;
}

const CLOUD_TYPES = EVENTS.types.map((type) => `${TYPE_PREFIX}${type}`);
const EVENT_TIME = '2026-02-24T10:30:00.000Z';

export class CloudEventView implements CloudEvent {
  @ApiProperty({ enum: ['1.0'], description: 'The version of CloudEvents.' }) specversion: '1.0';
  @ApiProperty({
    example: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11',
    description: 'Unique. Use the id to drop duplicates.',
  })
  id: string;
  @ApiProperty({ example: 'urn:rollcall:registry', description: 'Always the same.' }) source: string;
  @ApiProperty({ enum: CLOUD_TYPES, example: 'dev.rollcall.agent.left', description: 'What happened.' })
  type: CloudEvent['type'];
  @ApiProperty({ example: 'builder-01', description: 'The object of the event, usually an agentId.' }) subject: string;
  @ApiProperty({
    example: 'default',
    description: 'The namespace of the subject; `*` if the event concerns all namespaces.',
  })
  namespace: string;
  @ApiProperty({ format: 'date-time', example: EVENT_TIME, description: 'When the event happened.' }) time: string;
  @ApiProperty({ enum: ['application/json'], description: 'The media type of `data`.' })
  datacontenttype: 'application/json';
  @ApiProperty({
    example: '000000000001042',
    description: 'The position in the log, without gaps. It always has 15 digits, so texts have the order of the log.',
  })
  sequence: string;
  @ApiPropertyOptional({
    example: 'code.build,code.test',
    description: 'The capabilities of the agent, separated by commas.',
  })
  capabilities?: string;
  /** `describeEvents` documents the data of each type. */
  data: CloudEvent['data'];
}

@ApiSchema({ name: 'CloudEventMessage' })
class CloudEventMessage {
  @ApiProperty({ enum: EVENTS.types, description: 'The `type` of the event without `dev.rollcall.`.' })
  event: (typeof EVENTS.types)[number];
  @ApiProperty({ example: '1042-9f3c27d1', description: 'The cursor after the event, for `Last-Event-ID`.' })
  id: string;
  @ApiProperty({ type: CloudEventView, description: 'The event.' }) data: CloudEventView;
}

/** The messages of the stream of events, by their event. */
export const EVENT_STREAM_MESSAGES: Variants = {
  ...Object.fromEntries(EVENTS.types.map((type) => [type, CloudEventMessage])),
  end: StreamEndMessage,
};

export class EventsPage {
  @ApiProperty({
    type: [CloudEventView],
    description: 'Events in the order of the log; with `before`, the newest first.',
  })
  items: CloudEventView[];
  @ApiProperty({
    example: '1042-9f3c27d1',
    description:
      'The cursor after this page. Pass it as `after` in the next request, even when the page is empty. With `before`, pass it as `before`: ' +
      'the sequence 0 then means that there are no earlier events.',
  })
  next: string;
  @ApiProperty({
    example: '1042-9f3c27d1',
    description: 'The cursor of the newest event. If it equals `next`, there are no more events.',
  })
  head: string;
}

export class TicketView {
  @ApiProperty({ example: 'Xq3vT0c8', description: 'The ticket, for one connection to /v1/events/ws?ticket=…' })
  ticket: string;
  @ApiProperty({ type: String, format: 'date-time', example: EVENT_TIME, description: 'When the ticket expires.' })
  expiresAt: Date;
}
