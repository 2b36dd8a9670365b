import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsNumberString, IsString, Length, Matches, Max, MaxLength, Min } from 'class-validator';
import { BUDGET_KINDS, BUDGET_WINDOWS, type BudgetKind, type BudgetWindow } from '#rollcall/registry';
import { PageQuery } from '../http/page.js';
import { Nested, Optional, QueryNumber } from '../http/validation/fields.js';
import { AmountBody, LimitBody } from './amount.js';

export class OpenBudgetBody {
  @ApiProperty({ enum: BUDGET_KINDS, description: 'Whose spending the budget limits.' })
  @IsIn(BUDGET_KINDS)
  kind: BudgetKind;
  @ApiPropertyOptional({
    example: 'builder-01',
    description:
      'An agentId, a caller such as `key:4fT9sKq2Lm`, or a run. Absent for the namespace of the request and for the fleet.',
  })
  @Optional()
  @IsString()
  @Length(1, 200)
  subject?: string;
  @ApiPropertyOptional({
    enum: BUDGET_WINDOWS,
    default: 'total',
    example: 'daily',
    description: 'How often the usage starts again at 0.',
  })
  @Optional()
  @IsIn(BUDGET_WINDOWS)
  window?: BudgetWindow;
  @ApiPropertyOptional({
    example: 'Europe/Berlin',
    default: 'UTC',
    description: 'The time zone in which a day or month starts.',
  })
  @Optional()
  @IsString()
  @Length(1, 64)
  timeZone?: string;
  @ApiProperty({ type: LimitBody, description: 'What may be spent in a window.' })
  @Nested(() => LimitBody)
  limit: LimitBody;
  @ApiPropertyOptional({
    type: LimitBody,
    description: 'Below this amount, `condition` is `low`. Absent: the settings decide.',
  })
  @Optional()
  @Nested(() => LimitBody)
  low?: LimitBody;
  @ApiPropertyOptional({ example: 'run-7', description: 'For a run: the run that delegated it.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  parentRunId?: string;
  @ApiPropertyOptional({
    example: 'ledger',
    default: 'ledger',
    description: 'Who counts the usage: `ledger`, or a usage source such as `langfuse`.',
  })
  @Optional()
  @IsString()
  @Length(1, 50)
  source?: string;
}

export class OpenRunBody {
  @ApiProperty({
    example: 'run-8',
    description: 'A name that you choose. Repeating the request returns the same budget.',
  })
  @IsString()
  @Length(1, 200)
  runId: string;
  @ApiPropertyOptional({
    example: 'run-7',
    description: 'The run that delegated this run. Absent: this run is a root.',
  })
  @Optional()
  @IsString()
  @Length(1, 200)
  parentRunId?: string;
  @ApiPropertyOptional({
    type: LimitBody,
    description: 'The limit for the run and all runs below it. Absent: only the limits of the runs above apply.',
  })
  @Optional()
  @Nested(() => LimitBody)
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
  @ApiPropertyOptional({ description: 'Only budgets of runs below the run that has the budget with this id.' })
  @Optional()
  @Matches(/^\d{1,15}$/, { message: 'under must be the id of a budget, such as 42' })
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
  @ApiPropertyOptional({ type: LimitBody, description: 'The new limits. Absent fields are not changed.' })
  @Optional()
  @Nested(() => LimitBody)
  limit?: LimitBody;
  @ApiPropertyOptional({
    type: AmountBody,
    description: 'The amount used in this window. Absent fields are not changed.',
  })
  @Optional()
  @Nested(() => AmountBody)
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
    description: 'The period that the rates are taken from, in hours.',
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

/** Examples for bodies whose fields exclude each other. Each example works after the examples before it were sent. */
export const OPEN_BUDGET_EXAMPLES = {
  agent: {
    summary: 'An agent, daily',
    value: {
      kind: 'agent',
      subject: 'builder-01',
      window: 'daily',
      timeZone: 'Europe/Berlin',
      limit: { tokens: 500_000, microUsd: 20_000_000 },
      low: { tokens: 50_000 },
    } satisfies OpenBudgetBody,
  },
  namespace: {
    summary: 'The namespace, monthly',
    value: { kind: 'namespace', window: 'monthly', limit: { microUsd: 5_000_000_000 } } satisfies OpenBudgetBody,
  },
  fleet: {
    summary: 'All namespaces, monthly',
    value: { kind: 'fleet', window: 'monthly', limit: { microUsd: 20_000_000_000 } } satisfies OpenBudgetBody,
  },
};

export const OPEN_RUN_EXAMPLES = {
  root: { summary: 'A root run', value: { runId: 'run-7', limit: { tokens: 200_000 } } satisfies OpenRunBody },
  child: {
    summary: 'A run that the root delegates',
    value: { runId: 'run-8', parentRunId: 'run-7' } satisfies OpenRunBody,
  },
};

export const TOP_UP_EXAMPLES = {
  tokens: { summary: 'Tokens', value: { tokens: 100_000, note: 'for the release' } satisfies TopUpBody },
};
