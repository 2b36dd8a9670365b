import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
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
import { type CloudEvent, CURSOR_PATTERN } from '#rollcall/platform';
import { Optional } from '../http/optional.js';
import { QueryNumber } from '../http/query-number.js';
import { EVENTS } from './event.catalog.js';

const LARGEST_PAGE = 1_000;
const USUAL_PAGE = 100;
/** Shorter than what gateways usually wait for an answer. */
const LONGEST_WAIT_MS = 50_000;
const MOST_NAMES = 200;
const LARGEST_WINDOW = 10_000;
/** A cursor, or one end of the log. */
export const START_PATTERN = new RegExp(`${CURSOR_PATTERN.source}|^(oldest|latest)$`);

/** `a,b` in an address, a list in JSON. */
const List = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value));

const KnownType = (): PropertyDecorator =>
  ValidateBy(
    {
      name: 'knownType',
      validator: {
        validate: (value) => typeof value === 'string' && EVENTS.select(value).length > 0,
        defaultMessage: () => `types must be names or families such as agent.*; there are: ${EVENTS.types.join(', ')}`,
      },
    },
    { each: true },
  );

export class EventFilterQuery {
  @ApiPropertyOptional({
    type: [String],
    description: 'Names, or families such as `agent.*`.',
    example: ['agent.*', 'circuit.opened'],
  })
  @IsOptional()
  @List()
  @KnownType()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MOST_NAMES)
  types?: string[];

  @ApiPropertyOptional({
    type: [String],
    description: 'Agents concerned, separated by commas.',
    example: ['builder-1'],
  })
  @IsOptional()
  @List()
  @Length(1, 300, { each: true })
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MOST_NAMES)
  agentIds?: string[];

  @ApiPropertyOptional({
    type: [String],
    description: 'The agent concerned has one of these.',
    example: ['code.build'],
  })
  @IsOptional()
  @List()
  @Length(1, 300, { each: true })
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MOST_NAMES)
  capabilities?: string[];
}

export class EventsQuery extends EventFilterQuery {
  @ApiPropertyOptional({
    description: 'A cursor such as `next`, the `sequence` of the last event you have, `oldest`, or `latest`.',
    default: 'oldest',
    example: '1041-9f3c27d1',
  })
  @IsOptional()
  @IsString()
  @Matches(START_PATTERN)
  after: string = 'oldest';

  @ApiPropertyOptional({ default: USUAL_PAGE, minimum: 1, maximum: LARGEST_PAGE })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(LARGEST_PAGE)
  limit: number = USUAL_PAGE;

  @ApiPropertyOptional({
    description: 'When there is nothing yet, wait this long for it.',
    default: 0,
    minimum: 0,
    maximum: LONGEST_WAIT_MS,
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(0)
  @Max(LONGEST_WAIT_MS)
  waitMs: number = 0;
}

export class StreamQuery extends EventFilterQuery {
  @ApiPropertyOptional({
    description: 'Where to start: a cursor, a `sequence`, `oldest` or `latest`. `Last-Event-ID` goes before it.',
    default: 'latest',
    example: '1041-9f3c27d1',
  })
  @Optional('latest')
  @IsString()
  @Matches(START_PATTERN)
  after: string = 'latest';
}

/** The `data` of a `subscribe` frame. */
export class SubscribeBody extends StreamQuery {
  /** While this many are not acknowledged, no further batch is sent. Without it, none need be. */
  @Optional()
  @IsInt()
  @Min(1)
  @Max(LARGEST_WINDOW)
  window?: number;
}

/** The `data` of an `ack` frame. */
export class AckBody {
  @IsString()
  @Matches(CURSOR_PATTERN)
  sequence: string;
}

export class CloudEventView implements CloudEvent {
  @ApiProperty({ enum: ['1.0'] }) specversion: '1.0';
  @ApiProperty({ example: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11' }) id: string;
  @ApiProperty({ example: 'urn:rollcall:registry' }) source: string;
  @ApiProperty({ enum: EVENTS.types, example: 'agent.left' }) type: CloudEvent['type'];
  @ApiProperty({ example: 'builder-1' }) subject: string;
  @ApiProperty({ format: 'date-time' }) time: string;
  @ApiProperty({ enum: ['application/json'] }) datacontenttype: 'application/json';
  @ApiProperty({ example: '1042', description: 'The place in the log.' })
  sequence: string;
  @ApiPropertyOptional({ example: 'code.build,code.test' }) capabilities?: string;
  @ApiProperty({ type: Object, example: { generation: 3, reason: 'evicted' } }) data: CloudEvent['data'];
}

export class EventsPage {
  @ApiProperty({ type: [CloudEventView] }) items: CloudEventView[];
  @ApiProperty({
    example: '1042-9f3c27d1',
    description: 'The cursor after this page. Pass it as `after` next time, also when the page is empty.',
  })
  next: string;
  @ApiProperty({
    example: '1042-9f3c27d1',
    description: 'The cursor of the newest event. Equal to `next`: you have them all.',
  })
  head: string;
}

export class TicketView {
  @ApiProperty({ description: 'Good for one WebSocket: /v1/events/ws?ticket=…', example: 'Xq3…' }) ticket: string;
  @ApiProperty({ format: 'date-time' }) expiresAt: Date;
}
