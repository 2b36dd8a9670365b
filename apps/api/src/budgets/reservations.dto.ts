import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, IsString, Length, Matches, Max, Min } from 'class-validator';
import { MAX_TTL_MS, DEFAULT_TTL_MS } from '#rollcall/registry';
import { AMOUNT, IsAmount, LIMIT } from './amount.dto.js';
import { Nested, Optional } from '../http/validation/fields.js';

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
