import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

const NEXT_INTERVAL = {
  type: 'integer',
  example: 9_412,
  description:
    'Send the next heartbeat after this time. The time varies randomly, so that agents do not send at the same time.',
} as const;

export class HeartbeatView {
  @ApiProperty({
    format: 'date-time',
    example: '2026-02-24T10:30:00.000Z',
    description: 'When the heartbeat was recorded.',
  })
  beatAt: string;
  @ApiProperty(NEXT_INTERVAL) nextIntervalMs: number;
}

/** Builds the JSON directly, because there are tens of thousands of heartbeats each second. */
export function heartbeatJson({ beatAt, nextIntervalMs }: HeartbeatView): string {
  return `{"beatAt":"${beatAt}","nextIntervalMs":${nextIntervalMs}}`;
}

export class HeartbeatResultView {
  @ApiProperty({
    example: 'builder-01',
    description: 'The agent of this heartbeat; empty if the heartbeat names no agent.',
  })
  agentId: string;
  @ApiProperty({ example: true, description: 'False: the heartbeat is rejected with `code`.' }) ok: boolean;
  @ApiPropertyOptional({
    format: 'date-time',
    example: '2026-02-24T10:30:00.000Z',
    description: 'When the heartbeat was recorded. Missing if it was rejected.',
  })
  beatAt?: string;
  @ApiPropertyOptional({ example: 'REGISTER_AGAIN', description: 'The error code of a rejected heartbeat.' })
  code?: string;
  @ApiPropertyOptional({
    example:
      'The agent "builder-01" is not registered. Register again, and use the generation and lease token of the response.',
    description: 'What happened, and what to do.',
  })
  detail?: string;
}

export class HeartbeatBatchView {
  @ApiProperty({ type: [HeartbeatResultView], description: 'One result for each heartbeat, in the same order.' })
  results: HeartbeatResultView[];
  @ApiProperty(NEXT_INTERVAL) nextIntervalMs: number;
}
