import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Matches, Max, Min } from 'class-validator';
import { localIdOf, namespaceOf } from '#rollcall/platform';
import { DEFAULT_TTL_MS, MAX_TTL_MS, type Reservation, type ReservationState } from '#rollcall/registry';
import { Nested, Optional } from '../http/validation/fields.js';
import { AMOUNT, AmountView, IsAmount, LIMIT } from './amount.js';

/** The usage as the vendor reports it. An unknown count is absent. */
class ModelUsageBody {
  @ApiPropertyOptional({ ...AMOUNT, example: 1_200, description: 'Input tokens.' })
  @Optional()
  @IsAmount()
  inputTokens?: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 300, description: 'Output tokens.' })
  @Optional()
  @IsAmount()
  outputTokens?: number;
  @ApiPropertyOptional({
    ...AMOUNT,
    example: 900,
    description: 'How many of the input tokens were read from the cache.',
  })
  @Optional()
  @IsAmount()
  cacheReadTokens?: number;
  @ApiPropertyOptional({
    ...AMOUNT,
    example: 0,
    description: 'How many of the input tokens were written to the cache.',
  })
  @Optional()
  @IsAmount()
  cacheWriteTokens?: number;
}

const IsKey = (): PropertyDecorator =>
  Matches(/^[\x21-\x7e]{1,200}$/, { message: 'key must have 1 to 200 visible ASCII characters' });

export class RenewBody {
  @ApiPropertyOptional({
    type: 'integer',
    example: 120,
    default: DEFAULT_TTL_MS / 1_000,
    minimum: 1,
    maximum: MAX_TTL_MS / 1_000,
    description: 'The reservation expires after this time.',
  })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(MAX_TTL_MS / 1_000)
  ttlSeconds?: number;
}

export class ReserveBody extends RenewBody {
  @ApiProperty({
    example: 'call-1',
    description: 'A name that you choose. A repeated request with the same key reserves only once.',
  })
  @IsKey()
  key: string;
  @ApiPropertyOptional({ example: 'builder-01', description: 'The agent that spends.' })
  @Optional()
  @IsString()
  @Length(1, 128)
  agentId?: string;
  @ApiPropertyOptional({ example: 'run-7', description: 'The run that spends. The runs above it are charged too.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  runId?: string;
  @ApiProperty({ ...AMOUNT, example: 4_000, description: 'The maximum number of tokens that the call can use.' })
  @IsAmount()
  tokens: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 60_000, default: 0, description: 'The maximum cost, in micro-dollars.' })
  @Optional()
  @IsAmount()
  microUsd?: number;
  @ApiPropertyOptional({
    ...AMOUNT,
    example: 500,
    description: 'Reserve fewer tokens if fewer are left, but at least this many.',
  })
  @Optional()
  @IsAmount()
  atLeastTokens?: number;
}

export class SettleBody {
  @ApiPropertyOptional({
    ...LIMIT,
    example: 1_500,
    description: 'The tokens used. Null or absent means unknown: then the reserved amount is charged.',
  })
  @IsOptional()
  @IsAmount()
  tokens?: number | null;
  @ApiPropertyOptional({
    ...LIMIT,
    example: 22_500,
    description: 'The cost in micro-dollars. Null or absent means unknown.',
  })
  @IsOptional()
  @IsAmount()
  microUsd?: number | null;
  @ApiPropertyOptional({ example: 'sonnet', description: 'The preset or alias whose prices apply to `usage`.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  model?: string;
  @ApiPropertyOptional({
    type: ModelUsageBody,
    description: 'The usage as the vendor reports it, instead of `tokens`.',
  })
  @Optional()
  @Nested(() => ModelUsageBody)
  usage?: ModelUsageBody;
}

export class ReservationParams {
  @ApiProperty({ example: 'call-1', description: 'The key that the caller chose.' })
  @IsKey()
  key: string;
}

export const RESERVE_EXAMPLES = {
  agent: {
    summary: 'A call by an agent',
    value: { key: 'call-1', agentId: 'builder-01', tokens: 4_000, microUsd: 60_000 } satisfies ReserveBody,
  },
  run: {
    summary: 'A call in a run',
    value: { key: 'run-7/turn-3', runId: 'run-7', tokens: 4_000, atLeastTokens: 500 } satisfies ReserveBody,
  },
};

export const SETTLE_EXAMPLES = {
  counted: { summary: 'A known usage', value: { tokens: 1_500, microUsd: 22_500 } satisfies SettleBody },
  vendor: {
    summary: 'The usage as the vendor reports it',
    value: { usage: { inputTokens: 1_200, outputTokens: 300, cacheReadTokens: 900 } } satisfies SettleBody,
  },
  unknown: { summary: 'An unknown usage', value: {} satisfies SettleBody },
};

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
