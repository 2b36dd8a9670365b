import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsIn,
  IsInt,
  IsNumberString,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  BUDGET_KINDS,
  BUDGET_WINDOWS,
  type BudgetKind,
  type BudgetWindow,
  LARGEST_AMOUNT,
  LONGEST_TTL_MS,
  USUAL_TTL_MS,
} from '#rollcall/registry';
import { Optional } from '../http/optional.js';
import { PageQuery } from '../http/page.js';
import { QueryNumber } from '../http/query-number.js';

/** A whole number of tokens or micro-dollars. */
function IsAmount(): PropertyDecorator {
  return (target, key) => [IsInt(), Min(0), Max(LARGEST_AMOUNT)].forEach((check) => check(target, key));
}

const AMOUNT = { type: 'integer', minimum: 0, maximum: LARGEST_AMOUNT } as const;
const LIMIT = { ...AMOUNT, nullable: true } as const;

export class LimitBody {
  @ApiPropertyOptional({ ...LIMIT, example: 500_000, description: 'Tokens. Null or absent is unlimited.' })
  @IsOptional()
  @IsAmount()
  tokens?: number | null;
  @ApiPropertyOptional({
    ...LIMIT,
    example: 20_000_000,
    description: 'Micro-dollars: 20 dollars is 20000000. Null or absent is unlimited.',
  })
  @IsOptional()
  @IsAmount()
  microUsd?: number | null;
}

export class AmountBody {
  @ApiPropertyOptional({ ...AMOUNT, example: 100_000, description: 'Tokens.' })
  @Optional()
  @IsAmount()
  tokens?: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 5_000_000, description: 'Micro-dollars.' })
  @Optional()
  @IsAmount()
  microUsd?: number;
}

export class OpenBudgetBody {
  @ApiProperty({ enum: BUDGET_KINDS, description: 'Whose spending it limits.' }) @IsIn(BUDGET_KINDS) kind: BudgetKind;
  @ApiPropertyOptional({
    example: 'builder-01',
    description: 'An agentId, a caller such as `key:4fT9sKq2Lm`, or a run. Absent for the fleet.',
  })
  @Optional()
  @IsString()
  @Length(1, 200)
  subject?: string;
  @ApiPropertyOptional({
    enum: BUDGET_WINDOWS,
    default: 'total',
    example: 'daily',
    description: 'When it starts again.',
  })
  @Optional()
  @IsIn(BUDGET_WINDOWS)
  window?: BudgetWindow;
  @ApiPropertyOptional({ example: 'Europe/Berlin', default: 'UTC', description: 'Where the day or month starts.' })
  @Optional()
  @IsString()
  @Length(1, 64)
  timeZone?: string;
  @ApiProperty({ type: LimitBody, description: 'What may be spent in a window.' })
  @IsObject()
  @ValidateNested()
  @Type(() => LimitBody)
  limit: LimitBody;
  @ApiPropertyOptional({
    type: LimitBody,
    description: 'Below this much, `condition` is `low`. Absent: by the settings.',
  })
  @Optional()
  @ValidateNested()
  @Type(() => LimitBody)
  low?: LimitBody;
  @ApiPropertyOptional({ example: 'run-7', description: 'For a run: the run that delegated it.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  parentRunId?: string;
  @ApiPropertyOptional({
    example: 'ledger',
    default: 'ledger',
    description: 'Who counts: `ledger`, or a usage source such as `langfuse`.',
  })
  @Optional()
  @IsString()
  @Length(1, 50)
  source?: string;
}

export class OpenRunBody {
  @ApiProperty({ example: 'run-8', description: 'A name that you choose. Repeating it returns the same budget.' })
  @IsString()
  @Length(1, 200)
  runId: string;
  @ApiPropertyOptional({ example: 'run-7', description: 'The run that delegated it. Absent: it is a root.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  parentRunId?: string;
  @ApiPropertyOptional({
    type: LimitBody,
    description: 'For the run and all runs below it. Absent: only the limits above bind.',
  })
  @Optional()
  @IsObject()
  @ValidateNested()
  @Type(() => LimitBody)
  limit?: LimitBody;
}

export class BudgetsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: BUDGET_KINDS, description: 'Only budgets of this kind.' })
  @Optional()
  @IsIn(BUDGET_KINDS)
  kind?: BudgetKind;
  @ApiPropertyOptional({ example: 'builder-01', description: 'Only budgets of this subject.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  subject?: string;
  @ApiPropertyOptional({ description: 'Only runs below the run with this budget id.' })
  @Optional()
  @Matches(/^\d{1,15}$/)
  under?: string;
}

export class TopUpBody extends AmountBody {
  @ApiPropertyOptional({ example: 'for the release', description: 'The reason, for the ledger.' })
  @Optional()
  @IsString()
  @MaxLength(500)
  note?: string;
}

export class AdjustBody {
  @ApiPropertyOptional({ type: LimitBody, description: 'The new limits. Absent fields stay as they are.' })
  @Optional()
  @ValidateNested()
  @Type(() => LimitBody)
  limit?: LimitBody;
  @ApiPropertyOptional({
    type: AmountBody,
    description: 'What was used in this window. Absent fields stay as they are.',
  })
  @Optional()
  @ValidateNested()
  @Type(() => AmountBody)
  used?: AmountBody;
  @ApiProperty({ example: 'as billed by the vendor', description: 'The reason, for the ledger.' })
  @IsString()
  @Length(1, 500)
  note: string;
}

export class ForecastQuery {
  @ApiPropertyOptional({
    type: 'integer',
    default: 24,
    minimum: 1,
    maximum: 2_160,
    example: 24,
    description: 'The period that the rates are taken from.',
  })
  @Optional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(2_160)
  hours: number = 24;
}

export class BudgetParams {
  @ApiProperty({ example: '1', description: 'The id of the budget.' })
  @IsNumberString({ no_symbols: true })
  @MaxLength(15)
  id: string;
}

/** As the vendor reports it; an unknown count is absent. */
export class ModelUsageBody {
  @ApiPropertyOptional({ ...AMOUNT, example: 1_200, description: 'Input tokens.' })
  @Optional()
  @IsAmount()
  inputTokens?: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 300, description: 'Output tokens.' })
  @Optional()
  @IsAmount()
  outputTokens?: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 900, description: 'Of these, read from the cache.' })
  @Optional()
  @IsAmount()
  cacheReadTokens?: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 0, description: 'Of these, written to the cache.' })
  @Optional()
  @IsAmount()
  cacheWriteTokens?: number;
}

const KEY = /^[\x21-\x7e]{1,200}$/;

export class RenewBody {
  @ApiPropertyOptional({
    type: 'integer',
    example: 120,
    default: USUAL_TTL_MS / 1_000,
    minimum: 1,
    maximum: LONGEST_TTL_MS / 1_000,
    description: 'After this time the reservation expires.',
  })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(LONGEST_TTL_MS / 1_000)
  ttlSeconds?: number;
}

export class ReserveBody extends RenewBody {
  @ApiProperty({
    example: 'call-1',
    description: 'A name that you choose. Reserving twice with it reserves once.',
  })
  @Matches(KEY, { message: 'key must have 1 to 200 visible ASCII characters' })
  key: string;
  @ApiPropertyOptional({ example: 'builder-01', description: 'The agent that spends.' })
  @Optional()
  @IsString()
  @Length(1, 128)
  agentId?: string;
  @ApiPropertyOptional({ example: 'run-7', description: 'The run it spends in. The runs above it are charged too.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  runId?: string;
  @ApiProperty({ ...AMOUNT, example: 4_000, description: 'The largest number of tokens the call can use.' })
  @IsAmount()
  tokens: number;
  @ApiPropertyOptional({ ...AMOUNT, example: 60_000, default: 0, description: 'The largest cost, in micro-dollars.' })
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
    description: 'The tokens used. Null or absent is unknown: the reserved amount is charged.',
  })
  @IsOptional()
  @IsAmount()
  tokens?: number | null;
  @ApiPropertyOptional({
    ...LIMIT,
    example: 22_500,
    description: 'The cost in micro-dollars. Null or absent is unknown.',
  })
  @IsOptional()
  @IsAmount()
  microUsd?: number | null;
  @ApiPropertyOptional({ example: 'sonnet', description: 'The preset or alias whose prices turn `usage` into money.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  model?: string;
  @ApiPropertyOptional({ type: ModelUsageBody, description: 'Instead of `tokens`, as the vendor reports it.' })
  @Optional()
  @ValidateNested()
  @Type(() => ModelUsageBody)
  usage?: ModelUsageBody;
}

export class ReservationParams {
  @ApiProperty({ example: 'call-1', description: 'The key that the caller chose.' })
  @Matches(KEY)
  key: string;
}
