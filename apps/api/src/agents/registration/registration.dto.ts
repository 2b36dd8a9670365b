import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
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
} from 'class-validator';
import { DEREGISTRATION_REASONS, type DeregistrationReason, WORK_MODES, type WorkMode } from '#rollcall/registry';
import { Nested, Optional, QueryNumber } from '../../http/validation/fields.js';
import {
  CAPABILITIES_RULE,
  IsAgentName,
  IsAgentVersion,
  IsCapabilities,
  IsCapacity,
  IsDeclaredLatency,
  IsEndpoint,
  IsLabels,
  IsSandboxLevel,
  LABELS_RULE,
  UnlessCard,
  IsTypicalTokens,
  TYPICAL_TOKENS_RULE,
} from './declaration.rules.js';

/** The excluded names are routes under /v1/agents. */
const AGENT_ID = /^(?!(?:batch|query|spawn|shutdown|ws)$)[A-Za-z0-9][\w.:-]{0,127}$/;
const MAX_TOKENS = Number.MAX_SAFE_INTEGER;
const LATEST_GENERATION = Number.MAX_SAFE_INTEGER;

export class ProviderBody {
  @ApiProperty({ example: 'copilot', description: 'The vendor or product behind the agent.' })
  @IsString()
  @Length(1, 100)
  adapter: string;
  @ApiProperty({ example: 'subscription', description: 'How usage is paid for, such as api, local or subscription.' })
  @IsString()
  @Length(1, 50)
  type: string;
  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: 'github-copilot-business',
    description: 'The plan, if any.',
  })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  plan?: string | null;
}

class BudgetBody {
  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    example: 500_000,
    description: 'The limit. Null or absent means unlimited.',
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_TOKENS)
  totalTokens?: number | null;
  @ApiPropertyOptional({ type: 'integer', example: 123_456, default: 0, description: 'Tokens used so far.' })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(MAX_TOKENS)
  usedTokens?: number;
  @ApiPropertyOptional({
    example: 'reported',
    default: 'reported',
    description: 'The source of the count: `reported` by heartbeats, or a usage source such as `langfuse`.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 50)
  source?: string;
}

export class CostModelBody {
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0, description: 'US dollars for a task.' })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1e6)
  usdPerTask?: number | null;
  @ApiPropertyOptional({ type: Number, nullable: true, example: 0.003, description: 'US dollars for 1,000 tokens.' })
  @IsOptional()
  @IsNumber()
  @Min(0)
  @Max(1e6)
  usdPer1kTokens?: number | null;
}

export class RegisterBody {
  @ApiPropertyOptional({
    example: 'builder-01',
    description: 'The agentId to register. Absent: the registry creates one.',
  })
  @IsOptional()
  @Matches(AGENT_ID, {
    message:
      'agentId must have 1 to 128 characters of A-Z a-z 0-9 _ . : -, begin with a letter or digit, and not be batch, query, spawn, shutdown or ws',
  })
  agentId?: string;

  @ApiPropertyOptional({
    example: 'rl_3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    description:
      'The lease token of the previous registration of this agentId, to replace that registration while it is live. The agent ' +
      'keeps the token. Any other token is ignored, and the response contains a new one.',
  })
  @IsOptional()
  @Matches(/^rl_[\w-]{43}$/, { message: 'leaseToken must be the lease token of a registration' })
  leaseToken?: string;

  @ApiPropertyOptional({
    default: false,
    example: false,
    description:
      'Replace the registration of a live agent that you own, without its lease token. The new registration gets a new lease ' +
      'token. No effect if the agent is not live.',
  })
  @IsOptional()
  @IsIn([true, false])
  takeover?: boolean;

  @ApiPropertyOptional({ example: 'swarm-builder', description: 'A name for people. Without a card, it is required.' })
  @UnlessCard('name')
  @IsAgentName()
  name: string;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: 'https://builder.example:5091',
    description: 'The URL at which the agent is called. Null or absent if the agent has no endpoint.',
  })
  @IsOptional()
  @IsEndpoint()
  endpoint?: string | null;

  @ApiPropertyOptional({
    enum: WORK_MODES,
    default: 'push',
    description:
      'How work reaches the agent. `push`: Rollcall calls the endpoint. `pull`: the agent has no endpoint, and takes tasks over its WebSocket or with `agents.takeTasks`.',
  })
  @IsOptional()
  @IsIn(WORK_MODES)
  work?: WorkMode;

  @ApiPropertyOptional({
    default: false,
    example: false,
    description:
      'Whether the agent may receive the same call twice. An interrupted call is then repeated; otherwise the run waits for a review.',
  })
  @IsOptional()
  @IsIn([true, false])
  idempotent?: boolean;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The A2A agent card, which is stored unchanged. It supplies a missing name and missing capabilities.',
    example: { name: 'swarm-builder' },
  })
  @IsOptional()
  @IsObject()
  agentCard?: Record<string, unknown> | null;

  @ApiPropertyOptional({
    example: 'https://builder.example:5091/.well-known/agent-card.json',
    description:
      'The URL of an A2A agent card, or of an agent that has one. The card is fetched, and used as `agentCard`.',
  })
  @Optional()
  @IsEndpoint()
  cardUrl?: string;

  /** Required without a card. */
  @ApiPropertyOptional({ example: ['plan', 'build', 'code-generation'], description: CAPABILITIES_RULE })
  @UnlessCard('capabilities')
  @IsCapabilities()
  capabilities: string[];

  @ApiPropertyOptional({
    type: 'integer',
    example: 2,
    default: 0,
    description: 'How strictly the agent is isolated. 0 means no isolation.',
  })
  @IsOptional()
  @IsSandboxLevel()
  sandboxLevel?: number;
  @ApiPropertyOptional({ type: ProviderBody, description: 'Who provides the model.' })
  @IsOptional()
  @Nested(() => ProviderBody)
  provider?: ProviderBody;
  @ApiPropertyOptional({ type: BudgetBody, description: 'What the agent may spend.' })
  @IsOptional()
  @Nested(() => BudgetBody)
  budget?: BudgetBody;
  @ApiPropertyOptional({ type: CostModelBody, description: 'What the agent costs.' })
  @IsOptional()
  @Nested(() => CostModelBody)
  costModel?: CostModelBody;
  @ApiPropertyOptional({
    type: 'integer',
    example: 8,
    description: 'How many tasks the agent accepts at the same time.',
  })
  @IsOptional()
  @IsCapacity()
  capacity?: number;
  @ApiPropertyOptional({ type: 'integer', example: 1_200, description: 'How long a response usually takes, in ms.' })
  @IsOptional()
  @IsDeclaredLatency()
  declaredMs?: number;
  @ApiPropertyOptional({
    type: 'integer',
    example: 4_000,
    description: `${TYPICAL_TOKENS_RULE} Absent: the general estimate, 32,000.`,
  })
  @IsOptional()
  @IsTypicalTokens()
  typicalTokens?: number;
  @ApiPropertyOptional({ example: '1.4.2', description: 'The version of the agent.' })
  @IsOptional()
  @IsAgentVersion()
  version?: string;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { team: 'platform' },
    description: LABELS_RULE,
  })
  @IsOptional()
  @IsLabels()
  labels?: Record<string, string>;
}

const MAX_REGISTRATIONS = 1_000;

export class RegisterBatchBody {
  @ApiProperty({
    type: [RegisterBody],
    minItems: 1,
    maxItems: MAX_REGISTRATIONS,
    description: 'Up to 1,000 registrations. Each is validated separately.',
  })
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_REGISTRATIONS)
  @IsObject({ each: true })
  agents: Record<string, unknown>[];
}

export class LeaveQuery {
  @ApiPropertyOptional({
    type: 'integer',
    example: 1,
    description: 'The generation of the registration that ends. Required with a lease token.',
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(1)
  @Max(LATEST_GENERATION)
  generation?: number;
  @ApiPropertyOptional({
    enum: DEREGISTRATION_REASONS,
    default: 'deregistered',
    description: '`shutdown`: the process ends. An agent that leaves while it is draining has the reason `drained`.',
  })
  @IsOptional()
  @IsIn(DEREGISTRATION_REASONS)
  reason?: DeregistrationReason;
}
