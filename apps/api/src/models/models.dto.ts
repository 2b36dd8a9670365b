import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import type { PresetView, ResolvedModel } from '#rollcall/providers';

export class ResolveQuery {
  @ApiPropertyOptional({
    description: 'A preset, an alias or `inherit`. Absent: the default.',
    example: 'inherit',
  })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  model?: string;
}

class ModelChoiceView {
  @ApiProperty({ example: 'anthropic', description: 'The model vendor.' }) vendor: string;
  @ApiProperty({ example: 'claude-haiku-4-5', description: 'The model, as the vendor calls it.' }) model: string;
  @ApiPropertyOptional({
    example: 'http://127.0.0.1:11434/v1',
    description: 'The address of the vendor. Absent: its usual address.',
  })
  baseUrl?: string;
  @ApiPropertyOptional({
    example: 'ANTHROPIC_API_KEY',
    description: 'The environment variable with the key: its name, never its value.',
  })
  keyEnv?: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { maxOutputTokens: 4096 },
    description: 'Settings of each call.',
  })
  settings: object;
  @ApiPropertyOptional({ type: 'integer', example: 200_000, description: 'The size in tokens.' })
  contextWindow?: number;
  @ApiPropertyOptional({
    type: [String],
    example: ['chat', 'tools', 'vision'],
    description: 'What the model can do. The capabilities of definitions include it.',
  })
  capabilities?: readonly string[];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'number' },
    example: { input: 1_000_000, output: 5_000_000 },
    description: 'Micro-dollars per million tokens.',
  })
  prices?: object;
  @ApiPropertyOptional({
    example: '2026-11-19',
    description: 'The date of the price list, if the prices are from it.',
  })
  pricesAsOf?: string;
}

export class PresetModel extends ModelChoiceView implements PresetView {
  @ApiProperty({ example: 'fast', description: 'The name of the preset.' }) name: string;
  @ApiProperty({ type: [String], example: ['haiku'], description: 'Other names of the preset.' }) aliases: string[];
  @ApiProperty({ example: true, description: 'Whether the preset is used where no model is named.' })
  isDefault: boolean;
  declare settings: PresetView['settings'];
  declare prices?: PresetView['prices'];
}

export class ModelList {
  @ApiProperty({ type: [PresetModel], description: 'All presets.' }) items: PresetModel[];
  @ApiProperty({
    type: [String],
    example: ['anthropic', 'google', 'openai', 'scripted'],
    description: 'All model vendors.',
  })
  vendors: string[];
}

export class ResolvedModelView implements ResolvedModel {
  @ApiProperty({ type: ModelChoiceView, description: 'The model.' }) choice: ResolvedModel['choice'];
  @ApiProperty({
    enum: ['inline', 'preset', 'alias', 'built-in-alias', 'inherit', 'default'],
    example: 'alias',
    description: 'The rule that chose the model.',
  })
  rule: ResolvedModel['rule'];
  @ApiPropertyOptional({ example: 'fast', description: 'The preset, if one was chosen.' }) preset?: string;
  @ApiProperty({ example: 'sonnet is an alias of the preset fast.', description: 'The rule as a text.' })
  because: string;
}
