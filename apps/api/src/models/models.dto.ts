import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, MaxLength } from 'class-validator';
import type { PresetView, ResolvedModel } from '#rollcall/providers';

export class ResolveQuery {
  @ApiPropertyOptional({
    description: 'A preset, an alias or `inherit`; nothing means the default.',
    example: 'sonnet',
  })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  model?: string;
}

export class ModelChoiceView {
  @ApiProperty({ example: 'anthropic' }) vendor: string;
  @ApiProperty({ example: 'claude-haiku-4-5' }) model: string;
  @ApiPropertyOptional({ example: 'http://127.0.0.1:11434/v1' }) baseUrl?: string;
  @ApiPropertyOptional({ example: 'ANTHROPIC_API_KEY', description: 'The name of the variable, never its value.' })
  keyEnv?: string;
  @ApiProperty({ example: { maxOutputTokens: 4096 } }) settings: object;
  @ApiPropertyOptional({ example: 200_000 }) contextWindow?: number;
  @ApiPropertyOptional({
    example: { input: 1_000_000, output: 5_000_000 },
    description: 'Micro-dollars per million tokens.',
  })
  prices?: object;
}

export class PresetModel extends ModelChoiceView implements PresetView {
  @ApiProperty({ example: 'fast' }) name: string;
  @ApiProperty({ example: ['haiku'] }) aliases: string[];
  @ApiProperty() isDefault: boolean;
  declare settings: PresetView['settings'];
  declare prices?: PresetView['prices'];
}

export class ModelList {
  @ApiProperty({ type: [PresetModel] }) items: PresetModel[];
  @ApiProperty({ example: ['anthropic', 'openai', 'openai-compatible', 'scripted'] }) vendors: string[];
}

export class ResolvedModelView implements ResolvedModel {
  @ApiProperty({ type: ModelChoiceView }) choice: ResolvedModel['choice'];
  @ApiProperty({ enum: ['inline', 'preset', 'alias', 'inherit', 'default'] }) rule: ResolvedModel['rule'];
  @ApiPropertyOptional({ example: 'fast' }) preset?: string;
  @ApiProperty({ example: 'sonnet is an alias of the preset fast.' }) because: string;
}
