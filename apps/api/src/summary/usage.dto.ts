import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import {
  MAX_USAGE_POINTS,
  USAGE_GROUPS,
  USAGE_STEPS,
  type UsageGroup,
  type UsagePoint,
  type UsageQuery,
  type UsageStep,
} from '#rollcall/agent-runtime';
import { IsDateTime } from '../http/validation/fields.js';
import { validationFailed } from '../http/validation/validation.errors.js';

const STEP_MS: Record<UsageStep, number> = { '1m': 60_000, '1h': 3_600_000, '1d': 86_400_000 };
const MAX_INTERVALS = 1_500;
const DAY_MS = STEP_MS['1d'];
const MAX_SERIES = 50;
const MOMENT = { type: String, format: 'date-time', example: '2026-02-24T00:00:00.000Z' } as const;

export class UsageQueryDto {
  @ApiProperty({ enum: USAGE_GROUPS, example: 'agent', description: 'What the usage is grouped by.' })
  @IsIn(USAGE_GROUPS)
  by: UsageGroup;

  @ApiPropertyOptional({ ...MOMENT, description: 'The beginning. Absent: one day before `to`.' })
  @IsOptional()
  @IsDateTime()
  from?: string;

  @ApiPropertyOptional({
    ...MOMENT,
    example: '2026-02-25T00:00:00.000Z',
    description: 'The end, which is not included. Absent: now.',
  })
  @IsOptional()
  @IsDateTime()
  to?: string;

  @ApiPropertyOptional({ enum: USAGE_STEPS, default: '1h', example: '1h', description: 'The length of an interval.' })
  @IsOptional()
  @IsIn(USAGE_STEPS)
  step: UsageStep = '1h';
}

class AmountView {
  @ApiProperty({ type: 'integer', example: 1_500, description: 'Tokens charged.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 22_500, description: 'Micro-dollars charged.' }) microUsd: number;
}

class UsagePointView extends AmountView {
  @ApiProperty({ ...MOMENT, description: 'When the interval begins.' }) at: string;
}

class UsageSeriesView extends AmountView {
  @ApiProperty({ example: 'builder-01', description: 'The agent, definition, caller or model.' }) key: string;
  @ApiProperty({ type: [UsagePointView], description: 'The intervals with usage, in order.' }) points: UsagePointView[];
}

export class UsageView {
  @ApiProperty({ ...MOMENT, description: 'The beginning.' }) from: string;
  @ApiProperty({ ...MOMENT, description: 'The end.' }) to: string;
  @ApiProperty({ enum: USAGE_STEPS, example: '1h', description: 'The length of an interval.' }) step: UsageStep;
  @ApiProperty({ type: AmountView, description: 'The sum of all series.' }) total: AmountView;
  @ApiProperty({
    type: [UsageSeriesView],
    description: `The largest first, by money and then by tokens. There are at most ${MAX_SERIES}; \`total\` contains all.`,
  })
  series: UsageSeriesView[];
  @ApiProperty({
    example: false,
    description: 'Whether there was too much to read: use a longer step or a shorter time.',
  })
  truncated: boolean;
}

export function readUsageQuery({ by, from, to, step }: UsageQueryDto, namespace: string): UsageQuery {
  const end = to === undefined ? new Date() : new Date(to);
  const start = from === undefined ? new Date(end.getTime() - DAY_MS) : new Date(from);
  const intervals = (end.getTime() - start.getTime()) / STEP_MS[step];
  if (intervals > 0 && intervals <= MAX_INTERVALS) return { namespace, by, from: start, to: end, step };
  const message =
    intervals > 0
      ? `from and to must be at most ${MAX_INTERVALS} steps apart; use a longer step`
      : 'from must be earlier than to';
  throw validationFailed([{ field: 'from', message }]);
}

export function toUsageView({ from, to, step }: UsageQuery, points: readonly UsagePoint[]): UsageView {
  const byKey = new Map<string, UsageSeriesView>();
  const total = { tokens: 0, microUsd: 0 };
  for (const { key, at, tokens, microUsd } of points) {
    const series = byKey.get(key) ?? { key, tokens: 0, microUsd: 0, points: [] };
    byKey.set(key, series);
    series.points.push({ at: at.toISOString(), tokens, microUsd });
    for (const sum of [series, total]) {
      sum.tokens += tokens;
      sum.microUsd += microUsd;
    }
  }
  const series = [...byKey.values()]
    .toSorted((one, other) => other.microUsd - one.microUsd || other.tokens - one.tokens)
    .slice(0, MAX_SERIES);
  const truncated = points.length >= MAX_USAGE_POINTS;
  return { from: from.toISOString(), to: to.toISOString(), step, total, series, truncated };
}
