import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateIf,
  ValidateNested,
} from 'class-validator';
import type { AgentUpdate } from '#rollcall/registry';
import { CostModelBody, ProviderBody } from './agents.dto.js';
import { CAPABILITIES_RULE, IsCapabilities } from './capabilities.validator.js';
import { IsLabelChanges, LABELS_RULE } from './labels.validator.js';

/** May be left out, but not be null: there is no agent without it. */
const IsUnlessLeftOut = (): PropertyDecorator => ValidateIf((_, value) => value !== undefined);

/** What is left out stays as it is. The budget is not here: it is changed where budgets are kept. */
export class UpdateBody {
  @ApiPropertyOptional({
    type: Number,
    example: 1,
    description: 'Of the registration that changes. Only operators may leave it out.',
  })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(Number.MAX_SAFE_INTEGER)
  generation?: number | null;

  @ApiPropertyOptional({ example: 'swarm-builder' })
  @IsUnlessLeftOut()
  @Matches(/\S/, { message: 'name must not be blank' })
  @IsString()
  @Length(1, 200)
  name?: string;

  @ApiPropertyOptional({ type: String, nullable: true, example: 'https://builder.example:5092' })
  @IsOptional()
  @IsString()
  @Length(1, 2_000)
  endpoint?: string | null;

  @ApiPropertyOptional({ type: Object, nullable: true, example: { name: 'swarm-builder' } })
  @IsOptional()
  @IsObject()
  agentCard?: Record<string, unknown> | null;

  @ApiPropertyOptional({ example: ['plan', 'build', 'review'], description: `All of them. ${CAPABILITIES_RULE}` })
  @IsUnlessLeftOut()
  @IsCapabilities()
  capabilities?: string[];

  @ApiPropertyOptional({ example: 2 }) @IsUnlessLeftOut() @IsInt() @Min(0) @Max(100) sandboxLevel?: number;

  @ApiPropertyOptional({ type: ProviderBody, description: 'The whole of it.' })
  @IsUnlessLeftOut()
  @IsObject()
  @ValidateNested()
  @Type(() => ProviderBody)
  provider?: ProviderBody;

  @ApiPropertyOptional({ type: CostModelBody, description: 'The prices that change.' })
  @IsUnlessLeftOut()
  @IsObject()
  @ValidateNested()
  @Type(() => CostModelBody)
  costModel?: CostModelBody;

  @ApiPropertyOptional({ type: Number, nullable: true, example: 8 })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(1e6)
  capacity?: number | null;

  @ApiPropertyOptional({ type: Number, nullable: true, example: 1_200 })
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(1e9)
  declaredMs?: number | null;

  @ApiPropertyOptional({ type: String, nullable: true, example: '1.4.3' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  version?: string | null;

  @ApiPropertyOptional({
    type: Object,
    example: { team: 'platform', canary: null },
    description: `The labels that change; null takes one away. ${LABELS_RULE}`,
  })
  @IsUnlessLeftOut()
  @IsLabelChanges()
  labels?: Record<string, string | null>;
}

export function toUpdate(body: UpdateBody): AgentUpdate {
  const { provider, costModel } = body;
  return {
    name: body.name,
    endpoint: body.endpoint,
    agentCard: body.agentCard,
    capabilities: body.capabilities?.map((text) => text.trim()),
    sandboxLevel: body.sandboxLevel,
    provider: provider && { adapter: provider.adapter, type: provider.type, plan: provider.plan ?? null },
    costModel: costModel && pricesOf(costModel),
    capacity: body.capacity,
    declaredMs: body.declaredMs,
    version: body.version,
    labels: body.labels,
  };
}

function pricesOf({ usdPerTask, usdPer1kTokens }: CostModelBody): NonNullable<AgentUpdate['costModel']> {
  return { ...(usdPerTask !== undefined && { usdPerTask }), ...(usdPer1kTokens !== undefined && { usdPer1kTokens }) };
}
