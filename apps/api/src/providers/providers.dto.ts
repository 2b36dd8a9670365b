import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import type { Need, ProviderView } from '#rollcall/providers';

const KINDS = ['agent', 'model'] as const;

export class ProvidersQuery {
  @ApiPropertyOptional({
    enum: KINDS,
    description: '`agent`: only agent providers. `model`: only model vendors.',
  })
  @IsOptional()
  @IsIn(KINDS)
  kind?: ProviderView['kind'];
}

export class NeedView implements Need {
  @ApiProperty({ example: 'the package @anthropic-ai/claude-agent-sdk', description: 'What is needed.' }) what: string;
  @ApiProperty({ example: false, description: 'Whether the need is met.' }) met: boolean;
  @ApiPropertyOptional({
    example: 'Install it where Rollcall runs: npm install --no-save @anthropic-ai/claude-agent-sdk@^0.3.325',
    description: 'What to do, if the need is not met.',
  })
  how?: string;
}

export class ProviderItem implements ProviderView {
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

export class ProviderList {
  @ApiProperty({ type: [ProviderItem], description: 'All providers; agent providers come first.' })
  items: ProviderItem[];
}
