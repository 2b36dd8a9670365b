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

const LIMIT = { type: Number, nullable: true, maximum: LARGEST_AMOUNT } as const;

export class LimitBody {
  @ApiPropertyOptional({ ...LIMIT, example: 500_000, description: 'Null, or left out, is unlimited.' })
  @IsOptional()
  @IsAmount()
  tokens?: number | null;
  @ApiPropertyOptional({ ...LIMIT, example: 20_000_000, description: 'Micro-dollars: 20 dollars are 20000000.' })
  @IsOptional()
  @IsAmount()
  microUsd?: number | null;
}

export class AmountBody {
  @ApiPropertyOptional({ example: 100_000 }) @Optional() @IsAmount() tokens?: number;
  @ApiPropertyOptional({ example: 5_000_000 }) @Optional() @IsAmount() microUsd?: number;
}

export class OpenBudgetBody {
  @ApiProperty({ enum: BUDGET_KINDS, description: 'Whose spending it limits.' }) @IsIn(BUDGET_KINDS) kind: BudgetKind;
  @ApiPropertyOptional({
    example: 'builder-01',
    description: 'An agentId, a caller such as `key:4fT9sKq2Lm`, or a run. The fleet needs none.',
  })
  @Optional()
  @IsString()
  @Length(1, 200)
  subject?: string;
  @ApiPropertyOptional({ enum: BUDGET_WINDOWS, default: 'total', description: 'When it begins anew.' })
  @Optional()
  @IsIn(BUDGET_WINDOWS)
  window?: BudgetWindow;
  @ApiPropertyOptional({ example: 'Europe/Berlin', default: 'UTC', description: 'Where the day or month begins.' })
  @Optional()
  @IsString()
  @Length(1, 64)
  timeZone?: string;
  @ApiProperty({ type: LimitBody, description: 'What may be spent in a window.' })
  @IsObject()
  @ValidateNested()
  @Type(() => LimitBody)
  limit: LimitBody;
  @ApiPropertyOptional({ type: LimitBody, description: 'Warn when less than this is left; else by the settings.' })
  @Optional()
  @ValidateNested()
  @Type(() => LimitBody)
  low?: LimitBody;
  @ApiPropertyOptional({ example: 'run-7', description: 'Of a run: the run that delegated it.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  parentRunId?: string;
  @ApiPropertyOptional({ example: 'langfuse', default: 'ledger', description: 'Who else counts what is used.' })
  @Optional()
  @IsString()
  @Length(1, 50)
  source?: string;
}

export class OpenRunBody {
  @ApiProperty({ example: 'run-8', description: 'Of your making; the same again answers the same budget.' })
  @IsString()
  @Length(1, 200)
  runId: string;
  @ApiPropertyOptional({ example: 'run-7', description: 'The run that delegated it. Left out: it is a root.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  parentRunId?: string;
  @ApiPropertyOptional({
    type: LimitBody,
    description: 'For it and all runs below it. Left out: only those above bind.',
  })
  @Optional()
  @IsObject()
  @ValidateNested()
  @Type(() => LimitBody)
  limit?: LimitBody;
}

export class BudgetsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: BUDGET_KINDS }) @Optional() @IsIn(BUDGET_KINDS) kind?: BudgetKind;
  @ApiPropertyOptional({ example: 'builder-01' }) @Optional() @IsString() @Length(1, 200) subject?: string;
  @ApiPropertyOptional({ example: '42', description: 'Of runs: all below the run with this budget.' })
  @Optional()
  @Matches(/^\d{1,15}$/)
  under?: string;
}

export class TopUpBody extends AmountBody {
  @ApiPropertyOptional({ example: 'for the release' }) @Optional() @IsString() @MaxLength(500) note?: string;
}

export class AdjustBody {
  @ApiPropertyOptional({ type: LimitBody, description: 'The limits to be from now on. What is left out stays.' })
  @Optional()
  @ValidateNested()
  @Type(() => LimitBody)
  limit?: LimitBody;
  @ApiPropertyOptional({ type: AmountBody, description: 'What was really used in this window.' })
  @Optional()
  @ValidateNested()
  @Type(() => AmountBody)
  used?: AmountBody;
  @ApiProperty({ example: 'as billed by the vendor', description: 'Why: it stands in the ledger.' })
  @IsString()
  @Length(1, 500)
  note: string;
}

export class ForecastQuery {
  @ApiPropertyOptional({ default: 24, minimum: 1, maximum: 2_160, description: 'How far to look back.' })
  @Optional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(2_160)
  hours: number = 24;
}

export class BudgetParams {
  @IsNumberString({ no_symbols: true }) @MaxLength(15) id: string;
}

/** As the vendor stated it; a count it did not state is left out. */
export class ModelUsageBody {
  @ApiPropertyOptional({ example: 1_200 }) @Optional() @IsAmount() inputTokens?: number;
  @ApiPropertyOptional({ example: 300 }) @Optional() @IsAmount() outputTokens?: number;
  @ApiPropertyOptional({ example: 900 }) @Optional() @IsAmount() cacheReadTokens?: number;
  @ApiPropertyOptional({ example: 0 }) @Optional() @IsAmount() cacheWriteTokens?: number;
}

const KEY = /^[\x21-\x7e]{1,200}$/;

export class RenewBody {
  @ApiPropertyOptional({ example: 120, default: USUAL_TTL_MS / 1_000, description: 'Then it lapses.' })
  @Optional()
  @IsInt()
  @Min(1)
  @Max(LONGEST_TTL_MS / 1_000)
  ttlSeconds?: number;
}

export class ReserveBody extends RenewBody {
  @ApiProperty({ example: 'run-7/turn-3', description: 'Of your making: reserving twice with it reserves once.' })
  @Matches(KEY, { message: 'key must have 1 to 200 visible ASCII characters' })
  key: string;
  @ApiPropertyOptional({ example: 'builder-01', description: 'The agent that spends.' })
  @Optional()
  @IsString()
  @Length(1, 128)
  agentId?: string;
  @ApiPropertyOptional({ example: 'run-7', description: 'The run it spends in, with all runs above it.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  runId?: string;
  @ApiProperty({ example: 4_000, description: 'The most it will use.' }) @IsAmount() tokens: number;
  @ApiPropertyOptional({ example: 60_000, default: 0 }) @Optional() @IsAmount() microUsd?: number;
  @ApiPropertyOptional({ example: 500, description: 'Take fewer tokens if there are not so many, down to this.' })
  @Optional()
  @IsAmount()
  atLeastTokens?: number;
}

export class SettleBody {
  @ApiPropertyOptional({
    type: Number,
    nullable: true,
    example: 1_500,
    description: 'What was used. Null, or left out, is not known: then what was reserved is charged.',
  })
  @IsOptional()
  @IsAmount()
  tokens?: number | null;
  @ApiPropertyOptional({ type: Number, nullable: true, example: 22_500 })
  @IsOptional()
  @IsAmount()
  microUsd?: number | null;
  @ApiPropertyOptional({ example: 'sonnet', description: 'A preset or alias whose prices make money out of `usage`.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  model?: string;
  @ApiPropertyOptional({ type: ModelUsageBody, description: 'Instead of `tokens`, as the vendor stated it.' })
  @Optional()
  @ValidateNested()
  @Type(() => ModelUsageBody)
  usage?: ModelUsageBody;
}

export class ReservationParams {
  @Matches(KEY) key: string;
}
