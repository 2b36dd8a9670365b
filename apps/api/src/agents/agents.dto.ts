import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsIn,
  IsInt,
  IsNumber,
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
import { type Farewell, FAREWELLS } from '#rollcall/registry';
import { QueryNumber } from '../http/query-number.js';
import { CAPABILITIES_RULE, IsCapabilities } from './capabilities.validator.js';
import { LABELS_RULE, IsLabels } from './labels.validator.js';

/** These words are addresses of their own under /v1/agents. */
const AGENT_ID = /^(?!(?:batch|query|spawn|shutdown|ws)$)[A-Za-z0-9][\w.:-]{0,127}$/;
const MOST_TOKENS = Number.MAX_SAFE_INTEGER;
const LATEST_GENERATION = Number.MAX_SAFE_INTEGER;

export class ProviderBody {
  @ApiProperty({ example: 'copilot' }) @IsString() @Length(1, 100) adapter: string;
  @ApiProperty({ example: 'subscription', description: '`subscription`, `api`, `local`, …' })
  @IsString()
  @Length(1, 50)
  type: string;
  @ApiPropertyOptional({ type: String, nullable: true, example: 'github-copilot-business' })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  plan?: string | null;
}

export class BudgetBody {
  @ApiPropertyOptional({
    type: Number,
    nullable: true,
    example: 500_000,
    description: 'Null, or left out, is unlimited.',
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MOST_TOKENS)
  totalTokens?: number | null;
  @ApiPropertyOptional({ example: 123_456, default: 0 })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MOST_TOKENS)
  usedTokens?: number;
  @ApiPropertyOptional({ example: 'langfuse', default: 'reported' })
  @IsOptional()
  @IsString()
  @Length(1, 50)
  source?: string;
}

export class CostModelBody {
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0 })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1e6)
  usdPerTask?: number | null;
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0.003 })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1e6)
  usdPer1kTokens?: number | null;
}

export class RegisterBody {
  @ApiPropertyOptional({ example: 'builder-01', description: 'Proposed; one is given if it is left out.' })
  @IsOptional()
  @Matches(AGENT_ID, {
    message:
      'agentId must have 1 to 128 of A-Z a-z 0-9 _ . : -, begin with a letter or digit, and not be batch, query, spawn, shutdown or ws',
  })
  agentId?: string;

  @ApiPropertyOptional({ description: 'Of an agent that is registered already, and comes again.' })
  @IsOptional()
  @Matches(/^rl_[\w-]{43}$/, { message: 'leaseToken must be one that a registration answered' })
  leaseToken?: string;

  @ApiProperty({ example: 'swarm-builder' })
  @Matches(/\S/, { message: 'name must not be blank' })
  @IsString()
  @Length(1, 200)
  name: string;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: 'https://builder.example:5091',
    description: 'Null for an agent without an address of its own.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 2_000)
  endpoint?: string | null;

  @ApiPropertyOptional({
    type: Object,
    nullable: true,
    description: 'The A2A card, kept as it is.',
    example: { name: 'swarm-builder' },
  })
  @IsOptional()
  @IsObject()
  agentCard?: Record<string, unknown> | null;

  @ApiProperty({ example: ['plan', 'build', 'code-generation'], description: CAPABILITIES_RULE })
  @IsCapabilities()
  capabilities: string[];

  @ApiPropertyOptional({ example: 2, default: 0 }) @IsOptional() @IsInt() @Min(0) @Max(100) sandboxLevel?: number;
  @ApiPropertyOptional({ type: ProviderBody, description: 'Who answers for its model.' })
  @IsOptional()
  @ValidateNested()
  @Type(() => ProviderBody)
  provider?: ProviderBody;
  @ApiPropertyOptional({ type: BudgetBody, description: 'What it may spend.' })
  @IsOptional()
  @ValidateNested()
  @Type(() => BudgetBody)
  budget?: BudgetBody;
  @ApiPropertyOptional({ type: CostModelBody, description: 'What it costs.' })
  @IsOptional()
  @ValidateNested()
  @Type(() => CostModelBody)
  costModel?: CostModelBody;
  @ApiPropertyOptional({ example: 8, description: 'How many tasks it can do at once.' })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1e6)
  capacity?: number;
  @ApiPropertyOptional({ example: 1_200, description: 'How long an answer usually takes, by its own word.' })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(1e9)
  declaredMs?: number;
  @ApiPropertyOptional({ example: '1.4.2' }) @IsOptional() @IsString() @Length(1, 100) version?: string;
  @ApiPropertyOptional({ example: { team: 'platform' }, description: LABELS_RULE })
  @IsOptional()
  @IsLabels()
  labels?: Record<string, string>;
}

export const MOST_REGISTRATIONS = 1_000;

export class RegisterBatchBody {
  @ApiProperty({
    type: [RegisterBody],
    minItems: 1,
    maxItems: MOST_REGISTRATIONS,
    description: 'Up to 1,000 registrations. Each is checked by itself.',
  })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MOST_REGISTRATIONS)
  @IsObject({ each: true })
  agents: Record<string, unknown>[];
}

/** For the documentation; `beat.reader.ts` reads it. */
export class BeatBody {
  @ApiProperty({ example: 1, description: 'Of the registration that is beating.' }) generation: number;
  @ApiPropertyOptional({ example: 3, description: 'Tasks under way.' }) inFlight?: number;
  @ApiPropertyOptional({ example: 0.4, description: '0 is idle, 1 is full.' }) load?: number;
  @ApiPropertyOptional({ example: 850, description: 'What its answers have taken lately.' }) latencyMs?: number;
  @ApiPropertyOptional({ example: 130_000, description: 'All tokens used so far.' }) usedTokens?: number;
}

class BatchBeat extends BeatBody {
  @ApiProperty({ example: 'builder-01' }) agentId: string;
  @ApiProperty({ description: 'Of that agent.' }) leaseToken: string;
}

export class BatchBody {
  @ApiProperty({ type: [BatchBeat], description: 'Up to 1,000.' }) beats: BatchBeat[];
}

export class LeaveQuery {
  @ApiPropertyOptional({ example: 1, description: 'Of the registration that leaves. Only operators may leave it out.' })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(LATEST_GENERATION)
  generation?: number;
  @ApiPropertyOptional({
    enum: FAREWELLS,
    default: 'deregistered',
    description: '`shutdown` when its process ends. Who leaves while it is drained leaves as `drained`.',
  })
  @IsOptional()
  @IsIn(FAREWELLS)
  reason?: Farewell;
}

export class WishBody {
  @ApiPropertyOptional({ example: 'maintenance on node 7' }) @IsOptional() @IsString() @MaxLength(500) note?: string;
}

export class QuarantineBody extends WishBody {
  @ApiPropertyOptional({ default: false, description: 'Also end its registration; it may come back, in quarantine.' })
  @IsOptional()
  @IsIn([true, false])
  evict?: boolean;
}

export class OutcomeBody {
  @ApiProperty({ example: false }) @IsIn([true, false]) ok: boolean;
  @ApiPropertyOptional({ description: 'If this call was the probe.', example: 'p-1' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  probeId?: string;
}

export class ProbeBody {
  @ApiProperty({ example: 'p-1', description: 'A name of the caller’s making; goes into the outcome.' })
  @IsString()
  @Length(1, 100)
  probeId: string;
}

export class OverrideBody {
  @ApiProperty({ enum: ['auto', 'protect', 'evict'], description: 'By the numbers, never, or at once.' })
  @IsIn(['auto', 'protect', 'evict'])
  override: 'auto' | 'protect' | 'evict';
}
