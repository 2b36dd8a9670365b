import { Controller, Get, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import {
  AgentProviderRegistry,
  agentProviderView,
  Keyring,
  type Need,
  PresetCatalog,
  type ProviderView,
  VendorRegistry,
  vendorView,
} from '#rollcall/providers';
import { Caller, type Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';

const KINDS = ['agent', 'model'] as const;

class ProvidersQuery {
  @ApiPropertyOptional({
    enum: KINDS,
    description: '`agent`: only agent providers. `model`: only model vendors.',
  })
  @IsOptional()
  @IsIn(KINDS)
  kind?: ProviderView['kind'];
}

class NeedView implements Need {
  @ApiProperty({ example: 'the package @anthropic-ai/claude-agent-sdk', description: 'What is needed.' }) what: string;
  @ApiProperty({ example: false, description: 'Whether the need is met.' }) met: boolean;
  @ApiPropertyOptional({
    example: 'Install it where Rollcall runs: npm install --no-save @anthropic-ai/claude-agent-sdk@^0.3.325',
    description: 'What to do, if the need is not met.',
  })
  how?: string;
}

class ProviderItem implements ProviderView {
  @ApiProperty({ enum: KINDS, example: 'agent', description: '`agent`: an agent provider. `model`: a model vendor.' })
  kind: ProviderView['kind'];
  @ApiProperty({ example: 'claude-sdk', description: 'The name of the provider in definitions and presets.' })
  name: string;
  @ApiPropertyOptional({
    enum: ['sdk', 'api', 'in-process', 'remote', 'subprocess'],
    example: 'sdk',
    description: 'For agent providers: how the agents of the provider run.',
  })
  agentType?: ProviderView['agentType'];
  @ApiProperty({ example: 'Agents that run the loop of Claude Code', description: 'What the provider is.' })
  about: string;
  @ApiProperty({ example: false, description: 'Whether all needs of the provider are met on this replica.' })
  usable: boolean;
  @ApiProperty({ type: [NeedView], description: 'What the provider needs.' }) needs: NeedView[];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { type: 'object', properties: { model: { type: 'string' } } },
    description: 'The JSON Schema of the settings of an agent in a definition.',
  })
  settings?: Record<string, unknown>;
  @ApiPropertyOptional({
    type: [String],
    example: ['fast'],
    description: 'For model vendors: the presets that use the vendor.',
  })
  presets?: string[];
}

class ProviderList {
  @ApiProperty({ type: [ProviderItem], description: 'All providers; agent providers come first.' })
  items: ProviderItem[];
}

@ApiTags('models')
@Controller('providers')
@Permit('models:read')
export class ProvidersController {
  constructor(
    private readonly agents: AgentProviderRegistry,
    private readonly vendors: VendorRegistry,
    private readonly presets: PresetCatalog,
    private readonly keys: Keyring,
  ) {}

  @Get()
  @ApiOperation({
    operationId: 'providers.list',
    summary: 'List agent providers and model vendors',
    description: 'Each item lists what it needs, and whether it can be used on this replica.',
  })
  @ApiOkResponse({ type: ProviderList, description: 'All providers of this deployment.' })
  list(@Query() { kind }: ProvidersQuery, @Caller() { namespace }: Principal): ProviderList {
    const presets = this.presets.in(namespace);
    const all = [
      ...this.agents.list().map((provider) => agentProviderView(provider, namespace)),
      ...this.vendors.list().map((vendor) => vendorView(vendor, presets, this.keys.forModels)),
    ];
    return { items: all.filter((one) => kind === undefined || one.kind === kind) };
  }
}
