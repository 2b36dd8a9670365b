import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsInt, IsObject, IsOptional, Max, Min, ValidateIf } from 'class-validator';
import type { AgentUpdate } from '#rollcall/registry';
import { Nested } from '../../http/validation/fields.js';
import {
  CAPABILITIES_RULE,
  IsAgentName,
  IsAgentVersion,
  IsCapabilities,
  IsCapacity,
  IsDeclaredLatency,
  IsEndpoint,
  IsLabelChanges,
  IsSandboxLevel,
  LABELS_RULE,
  IsTypicalTokens,
  TYPICAL_TOKENS_RULE,
} from './declaration.rules.js';
import { CostModelBody, ProviderBody } from './registration.dto.js';

/** The field may be absent but not null, because every agent has a value. */
const RejectNull = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

/** Absent fields are not changed. The budget is not among the fields, because the budget routes change it. */
export class UpdateBody {
  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    example: 1,
    description: 'The generation of the registration. Required with a lease token.',
  })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  generation?: number | null;

  @ApiPropertyOptional({ example: 'swarm-builder', description: 'A name for people.' })
  @RejectNull()
  @IsAgentName()
  name?: string;

  @ApiPropertyOptional({
    type: String,
    nullable: true,
    example: 'https://builder.example:5092',
    description: 'The URL at which the agent is called. Null if the agent has no endpoint.',
  })
  @IsOptional()
  @IsEndpoint()
  endpoint?: string | null;

  @ApiPropertyOptional({ example: false, description: 'Whether an interrupted call of the agent may be repeated.' })
  @RejectNull()
  @IsIn([true, false])
  idempotent?: boolean;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    example: { name: 'swarm-builder' },
    description: 'The A2A agent card. It is stored unchanged.',
  })
  @IsOptional()
  @IsObject()
  agentCard?: Record<string, unknown> | null;

  @ApiPropertyOptional({ example: ['plan', 'build', 'review'], description: `The complete list. ${CAPABILITIES_RULE}` })
  @RejectNull()
  @IsCapabilities()
  capabilities?: string[];

  @ApiPropertyOptional({
    type: 'integer',
    example: 2,
    description: 'How strictly the agent is isolated. 0 means no isolation.',
  })
  @RejectNull()
  @IsSandboxLevel()
  sandboxLevel?: number;

  @ApiPropertyOptional({ type: ProviderBody, description: 'Replaces `adapter`, `type` and `plan`.' })
  @RejectNull()
  @Nested(() => ProviderBody)
  provider?: ProviderBody;

  @ApiPropertyOptional({ type: CostModelBody, description: 'The prices to change.' })
  @RejectNull()
  @Nested(() => CostModelBody)
  costModel?: CostModelBody;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    example: 8,
    description: 'How many tasks the agent accepts at the same time.',
  })
  @IsOptional()
  @IsCapacity()
  capacity?: number | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    example: 1_200,
    description: 'How long a response usually takes, in ms.',
  })
  @IsOptional()
  @IsDeclaredLatency()
  declaredMs?: number | null;

  @ApiPropertyOptional({ type: 'integer', nullable: true, example: 4_000, description: TYPICAL_TOKENS_RULE })
  @IsOptional()
  @IsTypicalTokens()
  typicalTokens?: number | null;

  @ApiPropertyOptional({ type: String, nullable: true, example: '1.4.3', description: 'The version of the agent.' })
  @IsOptional()
  @IsAgentVersion()
  version?: string | null;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string', nullable: true },
    example: { team: 'platform', canary: null },
    description: `The labels to change. The value null removes a label. ${LABELS_RULE}`,
  })
  @RejectNull()
  @IsLabelChanges()
  labels?: Record<string, string | null>;
}

export function toUpdate(body: UpdateBody): AgentUpdate {
  const { provider, costModel } = body;
  return {
    name: body.name,
    endpoint: body.endpoint,
    idempotent: body.idempotent,
    agentCard: body.agentCard,
    capabilities: body.capabilities?.map((text) => text.trim()),
    sandboxLevel: body.sandboxLevel,
    provider: provider && { adapter: provider.adapter, type: provider.type, plan: provider.plan ?? null },
    costModel: costModel && pricesOf(costModel),
    capacity: body.capacity,
    declaredMs: body.declaredMs,
    typicalTokens: body.typicalTokens,
    version: body.version,
    labels: body.labels,
  };
}

function pricesOf({ usdPerTask, usdPer1kTokens }: CostModelBody): NonNullable<AgentUpdate['costModel']> {
  return { ...(usdPerTask !== undefined && { usdPerTask }), ...(usdPer1kTokens !== undefined && { usdPer1kTokens }) };
}
