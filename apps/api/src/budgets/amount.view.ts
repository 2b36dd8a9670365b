import { ApiProperty } from '@nestjs/swagger';
import type { Amount, Limit } from '#rollcall/registry';

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
