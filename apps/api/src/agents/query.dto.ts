import { ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import { type AgentQuery, LARGEST_LIMIT, MOST_CAPABILITIES } from '#rollcall/registry';
import { IsLabels } from './labels.validator.js';
import { IsLevels, LEVELS_RULE } from './levels.validator.js';

class ProviderFilter {
  @ApiPropertyOptional({ example: 'copilot' }) @IsOptional() @IsString() @Length(1, 100) adapter?: string;
  @ApiPropertyOptional({ example: 'subscription' }) @IsOptional() @IsString() @Length(1, 50) type?: string;
  @ApiPropertyOptional({ example: 'business' }) @IsOptional() @IsString() @Length(1, 100) plan?: string;
}

class FilterBody {
  @ApiPropertyOptional({ type: ProviderFilter })
  @IsOptional()
  @ValidateNested()
  @Type(() => ProviderFilter)
  provider?: ProviderFilter;
  @ApiPropertyOptional({
    oneOf: [
      { type: 'integer' },
      { type: 'object', properties: { min: { type: 'integer' }, max: { type: 'integer' } } },
    ],
    example: { min: 2 },
    description: LEVELS_RULE,
  })
  @IsOptional()
  @IsLevels()
  sandboxLevel?: number | { min?: number; max?: number };
  @ApiPropertyOptional({ example: 0.1 }) @IsOptional() @IsNumber() @Min(0) maxUsdPerTask?: number;
  @ApiPropertyOptional({ example: 0.01 }) @IsOptional() @IsNumber() @Min(0) maxUsdPer1kTokens?: number;
  @ApiPropertyOptional({ example: 10_000 }) @IsOptional() @IsInt() @Min(0) minRemainingTokens?: number;
  @ApiPropertyOptional({ example: { team: 'platform' } }) @IsOptional() @IsLabels() labels?: Record<string, string>;
}

export class QueryBody {
  @ApiPropertyOptional({ example: ['build'], description: 'All of these.' })
  @IsOptional()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  @IsArray()
  @ArrayMaxSize(MOST_CAPABILITIES)
  capabilities?: string[];
  @ApiPropertyOptional({ example: ['plan', 'review'], description: 'At least one of these.' })
  @IsOptional()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  @IsArray()
  @ArrayMaxSize(MOST_CAPABILITIES)
  any?: string[];
  @ApiPropertyOptional({ example: ['deploy'], description: 'None of these.' })
  @IsOptional()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  @IsArray()
  @ArrayMaxSize(MOST_CAPABILITIES)
  none?: string[];
  @ApiPropertyOptional({ type: FilterBody, description: 'Which of those that can.' })
  @IsOptional()
  @ValidateNested()
  @Type(() => FilterBody)
  filter?: FilterBody;
  @ApiPropertyOptional({
    example: 'cheapest',
    default: 'cheapest',
    description: 'cheapest, fastest, round-robin or least-loaded.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 50)
  prefer?: string;
  @ApiPropertyOptional({ example: 10, default: 10 }) @IsOptional() @IsInt() @Min(1) @Max(LARGEST_LIMIT) limit?: number;
  @ApiPropertyOptional({ default: false, description: 'Also say who was left out, and what would make them eligible.' })
  @IsOptional()
  @IsBoolean()
  explain?: boolean;
  @ApiPropertyOptional({
    default: false,
    description: 'Take similarly spelled capabilities where nobody claims the right one.',
  })
  @IsOptional()
  @IsBoolean()
  fuzzy?: boolean;
  @ApiPropertyOptional({
    enum: ['directory', 'strong'],
    default: 'directory',
    description: '`strong` reads Postgres first.',
  })
  @IsOptional()
  @IsIn(['directory', 'strong'])
  consistency?: 'directory' | 'strong';
}

export function toQuery(body: QueryBody): AgentQuery {
  const { capabilities: all, any, none, filter, prefer, limit, explain, fuzzy } = withoutNulls(body);
  return { capabilities: { all, any, none }, filter, prefer, limit, explain, fuzzy };
}

/** To send null is to leave it out, at any depth. */
function withoutNulls<T extends object>(value: T): T {
  const said = Object.entries(value).filter(([, part]) => part !== null && part !== undefined);
  const parts = said.map(([name, part]: [string, unknown]) => [name, isBranch(part) ? withoutNulls(part) : part]);
  return Object.fromEntries(parts) as T;
}

function isBranch(part: unknown): part is object {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}
