import { ApiPropertyOptional } from '@nestjs/swagger';
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
  registerDecorator,
} from 'class-validator';
import {
  type AgentQuery,
  DEFAULT_SELECTION_MS,
  MAX_CAPABILITIES,
  MAX_LIMIT,
  MAX_TASK_LENGTH,
} from '#rollcall/registry';
import { Nested } from '../../http/validation/fields.js';
import { IsLabels } from '../registration/declaration.rules.js';

const MIN_AUCTION_MS = 200;
/** Shorter than the time limit of a request. */
const MAX_AUCTION_MS = 10_000;

const MAX_LEVEL = 100;

const LEVELS = `a whole number from 0 to ${MAX_LEVEL}, or an object with min, max or both, where min <= max`;

const LEVELS_RULE = `The level: ${LEVELS}.`;

/** A level, or a range of levels that is not empty. */
function IsLevels(): PropertyDecorator {
  return (target, propertyName) =>
    registerDecorator({
      name: 'isLevels',
      target: target.constructor,
      propertyName: String(propertyName),
      validator: { validate: areLevels, defaultMessage: (context) => `${context?.property} must be ${LEVELS}` },
    });
}

function areLevels(value: unknown): boolean {
  if (isLevel(value)) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { min = 0, max = MAX_LEVEL, ...others } = value as { min?: unknown; max?: unknown };
  const known = Object.keys(value).length > 0 && Object.keys(others).length === 0;
  return known && isLevel(min) && isLevel(max) && min <= max;
}

function isLevel(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_LEVEL;
}

class ProviderFilter {
  @ApiPropertyOptional({ example: 'copilot', description: 'The vendor or product.' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  adapter?: string;
  @ApiPropertyOptional({
    example: 'subscription',
    description: 'How usage is paid for, such as api, local or subscription.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 50)
  type?: string;
  @ApiPropertyOptional({ example: 'github-copilot-business', description: 'The plan.' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  plan?: string;
}

class FilterBody {
  @ApiPropertyOptional({ type: ProviderFilter, description: 'Only agents of this provider.' })
  @IsOptional()
  @Nested(() => ProviderFilter)
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
  @ApiPropertyOptional({ example: 0.1, description: 'Only agents that cost at most this many US dollars for a task.' })
  @IsOptional()
  @IsNumber()
  @Min(0)
  maxUsdPerTask?: number;
  @ApiPropertyOptional({
    example: 0.01,
    description: 'Only agents that cost at most this many US dollars for 1,000 tokens.',
  })
  @IsOptional()
  @IsNumber()
  @Min(0)
  maxUsdPer1kTokens?: number;
  @ApiPropertyOptional({
    type: 'integer',
    example: 10_000,
    description: 'Only agents with at least this many tokens left.',
  })
  @IsOptional()
  @IsInt()
  @Min(0)
  minRemainingTokens?: number;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'string' },
    example: { team: 'platform' },
    description: 'Only agents with all these labels.',
  })
  @IsOptional()
  @IsLabels()
  labels?: Record<string, string>;
}

export class QueryBody {
  @ApiPropertyOptional({ example: ['build'], description: 'The agent must claim all of these capabilities.' })
  @IsOptional()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  @IsArray()
  @ArrayMaxSize(MAX_CAPABILITIES)
  capabilities?: string[];
  @ApiPropertyOptional({
    example: ['plan', 'review'],
    description: 'The agent must claim at least one of these capabilities.',
  })
  @IsOptional()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  @IsArray()
  @ArrayMaxSize(MAX_CAPABILITIES)
  any?: string[];
  @ApiPropertyOptional({ example: ['deploy'], description: 'The agent must claim none of these capabilities.' })
  @IsOptional()
  @IsString({ each: true })
  @Length(1, 100, { each: true })
  @IsArray()
  @ArrayMaxSize(MAX_CAPABILITIES)
  none?: string[];
  @ApiPropertyOptional({ type: FilterBody, description: 'Further conditions.' })
  @IsOptional()
  @Nested(() => FilterBody)
  filter?: FilterBody;
  @ApiPropertyOptional({
    example: 'cheapest',
    default: 'cheapest',
    description:
      'The strategy: `cheapest`, `fastest`, `round-robin` or `least-loaded`; or `contract-net`: the agents bid within `waitMs`.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 50)
  prefer?: string;
  @ApiPropertyOptional({
    type: 'integer',
    minimum: MIN_AUCTION_MS,
    maximum: MAX_AUCTION_MS,
    default: DEFAULT_SELECTION_MS,
    example: 3_000,
    description: 'Only with `contract-net`: how long the auction may take, in milliseconds.',
  })
  @IsOptional()
  @IsInt()
  @Min(MIN_AUCTION_MS)
  @Max(MAX_AUCTION_MS)
  waitMs?: number;
  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_TASK_LENGTH,
    example: 'Build the site.',
    description: 'Only with `contract-net`: what the agents bid for.',
  })
  @IsOptional()
  @IsString()
  @Length(1, MAX_TASK_LENGTH)
  task?: string;
  @ApiPropertyOptional({
    type: 'integer',
    example: 10,
    default: 10,
    minimum: 1,
    maximum: MAX_LIMIT,
    description: 'The maximum number of candidates to return.',
  })
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_LIMIT)
  limit?: number;
  @ApiPropertyOptional({
    default: false,
    example: false,
    description: 'Also return agents that are excluded, and what would make them eligible.',
  })
  @IsOptional()
  @IsBoolean()
  explain?: boolean;
  @ApiPropertyOptional({
    example: 'builder-02',
    description: 'Needs `explain`: also say where this agent is in the ranking, or why it is excluded.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 128)
  about?: string;
  @ApiPropertyOptional({
    default: false,
    example: false,
    description: 'Accept capabilities with a similar spelling if no agent claims the exact capability.',
  })
  @IsOptional()
  @IsBoolean()
  fuzzy?: boolean;
  @ApiPropertyOptional({
    enum: ['directory', 'strong'],
    default: 'directory',
    example: 'directory',
    description: '`directory`: answers from memory. `strong`: first reads all committed changes from Postgres.',
  })
  @IsOptional()
  @IsIn(['directory', 'strong'])
  consistency?: 'directory' | 'strong';
}

export function toAgentQuery(body: QueryBody): AgentQuery {
  const { capabilities: all, any, none, filter, prefer, limit, explain, about, fuzzy } = withoutNulls(body);
  return { capabilities: { all, any, none }, filter, prefer, limit, explain, about, fuzzy };
}

/** A field that is null counts as absent, at any depth. */
function withoutNulls<T extends object>(value: T): T {
  const present = Object.entries(value).filter(([, part]) => part !== null && part !== undefined);
  const parts = present.map(([name, part]: [string, unknown]) => [name, isBranch(part) ? withoutNulls(part) : part]);
  return Object.fromEntries(parts) as T;
}

function isBranch(part: unknown): part is object {
  return typeof part === 'object' && part !== null && !Array.isArray(part);
}
