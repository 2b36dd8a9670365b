import { ApiProperty } from '@nestjs/swagger';
import { localIdOf, namespaceOf } from '#rollcall/platform';
import type { Reservation, ReservationState } from '#rollcall/registry';
import { AmountView } from './amount.view.js';

const BUDGETS =
  'The budgets that the reservation counts against. The budget of the fleet is visible only with access to all namespaces.';
const STATES: ReservationState[] = ['held', 'settled', 'released', 'expired'];

export class ReservationView {
  @ApiProperty({ example: 'call-1', description: 'The key that the caller chose.' }) key: string;
  @ApiProperty({ example: 'default', description: 'The namespace of the reservation.' }) namespace: string;
  @ApiProperty({
    enum: STATES,
    description:
      '`held`: the amount is reserved. `settled`: the usage was charged. `released`, `expired`: the amount is free again.',
  })
  state: ReservationState;
  @ApiProperty({ type: String, nullable: true, example: 'builder-01', description: 'The agent that spends, if any.' })
  agentId: string | null;
  @ApiProperty({ type: String, nullable: true, example: 'run-7', description: 'The run that spends, if any.' })
  runId: string | null;
  @ApiProperty({ type: [String], example: ['3', '41', '42'], description: BUDGETS })
  budgets: string[];
  @ApiProperty({ type: AmountView, description: 'What is reserved.' }) held: AmountView;
  @ApiProperty({
    type: AmountView,
    nullable: true,
    description: 'What was charged; null before the reservation is settled.',
  })
  used: AmountView | null;
  @ApiProperty({ example: false, description: 'Whether more was charged than reserved.' }) overdraft: boolean;
  @ApiProperty({
    example: false,
    description: 'Whether the usage was unknown, so that the reserved amount was charged.',
  })
  estimated: boolean;
  @ApiProperty({
    format: 'date-time',
    example: '2026-02-24T10:45:00.000Z',
    description: 'When the reservation expires.',
  })
  expiresAt: string;
}

export function toReservationView(reservation: Reservation): ReservationView {
  const { owner, key, state, scopes, budgetIds, held, used, overdraft, estimated, expiresAt } = reservation;
  const localId = (id: string | null): string | null => (id === null ? null : localIdOf(id));
  const spenders = { agentId: localId(scopes.agentId), runId: localId(scopes.runId) };
  const facts = { key, namespace: namespaceOf(owner), state, ...spenders, budgets: budgetIds.map(String), held, used };
  return { ...facts, overdraft, estimated, expiresAt: new Date(expiresAt).toISOString() };
}
