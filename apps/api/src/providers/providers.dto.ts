import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import type { Need, ProviderView } from '#rollcall/providers';

const KINDS = ['agent', 'model'] as const;

export class ProvidersQuery {
  @ApiPropertyOptional({
    enum: KINDS,
    description: 'Only those that make agents, or only those that answer model calls.',
  })
  @IsOptional()
  @IsIn(KINDS)
  kind?: ProviderView['kind'];
}

export class NeedView implements Need {
  @ApiProperty({ example: 'the package @anthropic-ai/claude-agent-sdk' }) what: string;
  @ApiProperty({ example: false }) met: boolean;
  @ApiPropertyOptional({
    example: 'Install it where Rollcall runs: npm install --no-save @anthropic-ai/claude-agent-sdk@^0.3.325',
    description: 'What to do, where the need is not met.',
  })
  how?: string;
}

export class ProviderItem implements ProviderView {
  @ApiProperty({ enum: KINDS, example: 'agent' }) kind: ProviderView['kind'];
  @ApiProperty({ example: 'claude-sdk', description: 'What a definition or a preset calls it.' }) name: string;
  @ApiPropertyOptional({ enum: ['sdk', 'api', 'in-process', 'remote', 'subprocess'], example: 'sdk' })
  agentType?: ProviderView['agentType'];
  @ApiProperty({ example: "Agents that run Claude Code's loop" }) about: string;
  @ApiProperty({ example: false, description: 'Whether all its needs are met on the replica that answers.' })
  usable: boolean;
  @ApiProperty({ type: [NeedView] }) needs: NeedView[];
  @ApiPropertyOptional({
    example: { type: 'object', properties: { model: { type: 'string' } } },
    description: 'JSON Schema of the settings a definition gives.',
  })
  settings?: Record<string, unknown>;
  @ApiPropertyOptional({ example: ['fast'], description: 'Of a model vendor: the presets that use it.' })
  presets?: string[];
}

export class ProviderList {
  @ApiProperty({ type: [ProviderItem] }) items: ProviderItem[];
}
