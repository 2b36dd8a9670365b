import { ApiProperty } from '@nestjs/swagger';
import { IsString, Matches } from 'class-validator';
import type { SinkStatus } from '#rollcall/platform';

const STATES: SinkStatus['state'][] = ['delivering', 'retrying', 'paused', 'stopped'];

export class SinkStatusView {
  @ApiProperty({
    enum: STATES,
    description:
      '`retrying`: the next event was tried in vain. `stopped`: the events after `cursor` are no longer kept; replay from one that is.',
  })
  state: SinkStatus['state'];
  @ApiProperty({ example: '1042', description: 'The `sequence` of the last event it is done with.' }) cursor: string;
  @ApiProperty({ example: 0, description: 'How many events it is behind, those it does not want included.' })
  lagEvents: number;
  @ApiProperty({
    type: Number,
    nullable: true,
    example: null,
    description: 'How long the oldest of them has waited; null when there is none.',
  })
  lagMs: number | null;
  @ApiProperty({ example: 0, description: 'Events that were given up, and can be replayed.' }) parked: number;
  @ApiProperty({ example: 0, description: 'Vain tries of the next event.' }) attempts: number;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) nextTryAt: Date | null;
  @ApiProperty({ type: String, nullable: true, example: null }) lastError: string | null;
  @ApiProperty({ type: String, format: 'date-time', nullable: true }) deliveredAt: Date | null;
  @ApiProperty({ description: 'Whether a replica is at it.' }) held: boolean;
}

export class SinkView extends SinkStatusView {
  @ApiProperty({ example: 'nats' }) id: string;
  @ApiProperty({ enum: ['webhook', 'nats'] }) kind: string;
}

export class SinkList {
  @ApiProperty({ type: [SinkView] }) items: SinkView[];
}

export class ReplayAfterBody {
  @ApiProperty({ example: '1041', description: 'Everything after this `sequence`, as far as it is kept.' })
  @IsString()
  @Matches(/^\d{1,15}$/)
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
  return { id: status.id, kind: status.kind, ...toStatusView(status) };
}
