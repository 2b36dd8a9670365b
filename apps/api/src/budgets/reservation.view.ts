import { ApiProperty } from '@nestjs/swagger';
import type { Reservation, ReservationState } from '#rollcall/registry';
import { AmountView } from './amount.view.js';

const STATES: ReservationState[] = ['held', 'settled', 'released', 'expired'];

export class ReservationView {
  @ApiProperty({ example: 'call-1', description: 'The key that the caller chose.' }) key: string;
  @ApiProperty({ enum: STATES, description: 'Only `held` reservations count against budgets.' })
  state: ReservationState;
  @ApiProperty({ type: String, nullable: true, example: 'builder-01', description: 'The agent that spends, if any.' })
  agentId: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'run-7', description: 'The run it spends in, if any.' })
  runId: string | null;
  @ApiProperty({ type: [String], example: ['3', '41', '42'], description: 'The budgets it counts against.' })
  budgets: string[];
  @ApiProperty({ type: AmountView, description: 'What is reserved.' }) held: AmountView;
  @ApiProperty({ type: AmountView, nullable: true, description: 'What was charged; null before it is settled.' })
  used: AmountView | null;
  @ApiProperty({ example: false, description: 'More was charged than reserved.' }) overdraft: boolean;
  @ApiProperty({ example: false, description: 'The usage was unknown, so the reserved amount was charged.' })
  estimated: boolean;
  @ApiProperty({ format: 'date-time', example: '2026-02-24T10:45:00.000Z', description: 'When it expires.' })
  expiresAt: string;
}

export function toReservationView(reservation: Reservation): ReservationView {
  const { key, state, scopes, budgetIds, held, used, overdraft, estimated, expiresAt } = reservation;
  const { agentId, runId } = scopes;
  const facts = { key, state, agentId, runId, budgets: budgetIds.map(String), held, used };
  return { ...facts, overdraft, estimated, expiresAt: new Date(expiresAt).toISOString() };
}
