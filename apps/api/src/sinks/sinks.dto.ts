import { ApiProperty } from '@nestjs/swagger';
import { IsString, Matches } from 'class-validator';
import type { SinkStatus } from '#rollcall/platform';

const STATES: SinkStatus['state'][] = ['delivering', 'retrying', 'paused', 'stopped'];
const TIMESTAMP = { type: String, format: 'date-time', nullable: true, example: null } as const;

export class SinkStatusView {
  @ApiProperty({
    enum: STATES,
    description:
      '`retrying`: the last delivery failed. `stopped`: the events after `cursor` are no longer kept; replay from a later `sequence`.',
  })
  state: SinkStatus['state'];
  @ApiProperty({ example: '1042', description: 'The `sequence` of the last processed event.' }) cursor: string;
  @ApiProperty({
    type: 'integer',
    example: 0,
    description: 'How many events the sink is behind the log, including events that its filter excludes.',
  })
  lagEvents: number;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description: 'How long the oldest undelivered event has waited; null when there is none.',
  })
  lagMs: number | null;
  @ApiProperty({
    type: 'integer',
    example: 0,
    description: 'Events whose delivery failed permanently. They can be replayed.',
  })
  parked: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'Failed attempts to deliver the next event.' })
  attempts: number;
  @ApiProperty({ ...TIMESTAMP, description: 'The next attempt; null when none is planned.' }) nextTryAt: Date | null;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The error of the last failed attempt.' })
  lastError: string | null;
  @ApiProperty({ ...TIMESTAMP, description: 'The last successful delivery; null before the first.' })
  deliveredAt: Date | null;
  @ApiProperty({ example: true, description: 'Whether a replica delivers to this sink now.' }) held: boolean;
}

export class SinkView extends SinkStatusView {
  @ApiProperty({ example: 'nats', description: '`nats`, or the id of a webhook.' }) id: string;
  @ApiProperty({ enum: ['webhook', 'nats'], example: 'nats', description: 'Where events go.' }) kind: string;
  @ApiProperty({ example: '*', description: 'The namespace whose events the sink receives; `*` for all events.' })
  namespace: string;
}

export class SinkList {
  @ApiProperty({ type: [SinkView], description: 'The sinks of the namespace.' }) items: SinkView[];
}

export class ReplayAfterBody {
  @ApiProperty({ example: '1', description: 'Continue after the event with this `sequence`.' })
  @IsString()
  @Matches(/^\d{1,15}$/, { message: 'after must be a sequence such as 1042' })
  after: string;
}

export function toStatusView(status: SinkStatus): SinkStatusView {
  const { state, cursor, head, lagMs, parked, attempts, nextTryAt, lastError, deliveredAt, held } = status;
  return {
    state,
    cursor: String(cursor),
    lagEvents: Math.max(0, head - cursor),
    lagMs,
    parked,
    attempts,
    nextTryAt,
    lastError,
    deliveredAt,
    held,
  };
}

export function toSinkView(status: SinkStatus): SinkView {
  const { id, kind, namespace } = status;
  return { id, kind, namespace, ...toStatusView(status) };
}
