import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { type Amount, type Limit, MAX_AMOUNT } from '#rollcall/registry';
import { Optional } from '../http/validation/fields.js';

/** A whole number of tokens or micro-dollars. */
export function IsAmount(): PropertyDecorator {
  return (target, key) => [IsInt(), Min(0), Max(MAX_AMOUNT)].forEach((check) => check(target, key));
}

export const AMOUNT = { type: 'integer', minimum: 0, maximum: MAX_AMOUNT } as const;
export const LIMIT = { ...AMOUNT, nullable: true } as const;

export class LimitBody {
  @ApiPropertyOptional({ ...LIMIT, example: 500_000, description: 'Tokens. Null or absent means unlimited.' })
  @IsOptional()
  @IsAmount()
  tokens?: number | null;
  @ApiPropertyOptional({
    ...LIMIT,
    example: 20_000_000,
    description: 'Micro-dollars: 20 dollars is 20000000. Null or absent means unlimited.',
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

export class AmountView implements Amount {
  @ApiProperty({ type: 'integer', example: 4_000, description: 'Tokens.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 60_000, description: 'Micro-dollars: 1 dollar is 1000000.' })
  microUsd: number;
}

export class LimitView implements Limit {
  @ApiProperty({ type: 'integer', nullable: true, example: 500_000, description: 'Tokens. Null means unlimited.' })
  tokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: null, description: 'Micro-dollars. Null means unlimited.' })
  microUsd: number | null;
}
