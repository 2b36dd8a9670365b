import { ApiProperty, ApiPropertyOptional, type ApiPropertyOptions } from '@nestjs/swagger';
import { DESIRED_STATES, type DesiredState, type LeasePolicy, leaseTtlMs } from '#rollcall/registry';

/** The injection token of the `LeasePolicy`. */
export const LEASE_POLICY = Symbol('lease policy');

export class HeartbeatPlanView {
  @ApiProperty({ type: 'integer', example: 10_000, description: 'The time between two heartbeats.' })
  intervalMs: number;
  @ApiProperty({
    type: 'integer',
    example: 31_000,
    description: 'The time from the last heartbeat to the end of the lease.',
  })
  leaseMs: number;
}

export function heartbeatPlan(lease: LeasePolicy): HeartbeatPlanView {
  return { intervalMs: lease.intervalMs, leaseMs: leaseTtlMs(lease) };
}

/** Documents the body that `beat.reader.ts` reads. */
export class BeatBody {
  @ApiProperty({ type: 'integer', example: 1, description: 'The generation of the registration.' }) generation: number;
  @ApiPropertyOptional({ type: 'integer', example: 3, description: 'Tasks in progress.' }) inFlight?: number;
  @ApiPropertyOptional({ example: 0.4, description: '0 is idle, 1 is full.' }) load?: number;
  @ApiPropertyOptional({ example: 850, description: 'How long recent responses took, in ms; shown as `declaredMs`.' })
  latencyMs?: number;
  @ApiPropertyOptional({
    type: 'integer',
    example: 130_000,
    description: 'All tokens used so far, including those of settled calls.',
  })
  usedTokens?: number;
}

class BatchBeat extends BeatBody {
  @ApiProperty({ example: 'builder-01', description: 'The id of the agent.' }) agentId: string;
  @ApiProperty({
    example: 'rl_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    description: 'The lease token of that agent.',
  })
  leaseToken: string;
}

export class BatchBody {
  @ApiProperty({ type: [BatchBeat], description: 'Up to 1,000 heartbeats.' }) beats: BatchBeat[];
}

const NEXT_INTERVAL = {
  type: 'integer',
  example: 9_412,
  description:
    'Send the next heartbeat after this time. The time varies randomly, so that agents do not send at the same time.',
} as const;

const DESIRED_STATE = {
  enum: DESIRED_STATES,
  example: 'draining',
  description: 'The state that an operator has requested. Missing: `active`.',
} as const;
const CANCELLED: ApiPropertyOptions = {
  type: [String],
  example: ['5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f-1'],
  description: 'The tasks of the agent that were cancelled lately. Missing: none.',
};

export class HeartbeatView {
  @ApiProperty({
    format: 'date-time',
    example: '2026-02-24T10:30:00.000Z',
    description: 'When the heartbeat was recorded.',
  })
  beatAt: string;
  @ApiProperty(NEXT_INTERVAL) nextIntervalMs: number;
  @ApiPropertyOptional(DESIRED_STATE) desiredState?: DesiredState;
  @ApiPropertyOptional(CANCELLED) cancelled?: readonly string[];
}

/** Builds the JSON directly, because there are tens of thousands of heartbeats each second. */
export function heartbeatJson({ beatAt, nextIntervalMs, desiredState, cancelled }: HeartbeatView): string {
  const whole = `{"beatAt":"${beatAt}","nextIntervalMs":${nextIntervalMs}`;
  if (desiredState === undefined && cancelled === undefined) return `${whole}}`;
  return `${whole},${JSON.stringify({ desiredState, cancelled }).slice(1)}`;
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
  @ApiPropertyOptional(DESIRED_STATE) desiredState?: DesiredState;
  @ApiPropertyOptional(CANCELLED) cancelled?: readonly string[];
}

export class HeartbeatBatchView {
  @ApiProperty({ type: [HeartbeatResultView], description: 'One result for each heartbeat, in the same order.' })
  results: HeartbeatResultView[];
  @ApiProperty(NEXT_INTERVAL) nextIntervalMs: number;
}
