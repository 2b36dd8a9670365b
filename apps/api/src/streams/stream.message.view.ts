import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { StreamEnd } from './stream.end.js';

/** The codes of `StreamEnd`. */
const END_CODES = [
  'SLOW_CONSUMER',
  'CREDENTIAL_ENDED',
  'SHUTTING_DOWN',
  'DATABASE_UNAVAILABLE',
  'CURSOR_AHEAD',
  'CURSOR_EXPIRED',
  'CURSOR_FOREIGN',
] as const satisfies StreamEnd['code'][];

@ApiSchema({ name: 'StreamEnd' })
export class StreamEndView implements StreamEnd {
  @ApiProperty({ enum: END_CODES, example: 'SHUTTING_DOWN', description: 'A stable code.' }) code: StreamEnd['code'];
  @ApiProperty({ example: 'This replica is shutting down.', description: 'An explanation for people.' })
  detail: string;
  @ApiPropertyOptional({ example: '1042-9f3c27d1', description: 'Streams of events: the cursor to resume from.' })
  after?: string;
  @ApiPropertyOptional({ type: 'integer', example: 7, description: 'Streams of runs: the step to resume from.' })
  afterStep?: number;
  @ApiPropertyOptional({ example: '812', description: 'CURSOR_EXPIRED: the earliest `sequence` that works.' })
  oldest?: string;
  @ApiPropertyOptional({ example: '1042', description: 'CURSOR_AHEAD, CURSOR_FOREIGN: the newest `sequence`.' })
  head?: string;
  @ApiPropertyOptional({
    example: '/v1/events/snapshot',
    description: 'If you cannot continue from the cursor: read the snapshot at this path.',
  })
  snapshot?: string;
}

/** The last message of a stream that the server ends early. */
@ApiSchema({ name: 'StreamEndMessage' })
export class StreamEndMessage {
  @ApiProperty({ enum: ['end'], description: 'Why the server ends the stream.' }) event: 'end';
  @ApiProperty({ type: StreamEndView, description: 'The reason, and where to resume.' }) data: StreamEndView;
}
