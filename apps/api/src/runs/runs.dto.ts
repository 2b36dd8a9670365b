import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Max,
  Min,
} from 'class-validator';
import { RUN_STATES, type RunStatus } from '#rollcall/agent-runtime';
import { MAX_CAPABILITIES } from '#rollcall/registry';
import { LimitBody } from '../budgets/amount.js';
import { INPUT_LIMITS } from '../http/body/input.check.js';
import { PageQuery } from '../http/page.js';
import { MAX_WAIT_MS } from '../http/server/in-flight.js';
import { IsDateTime, Nested, Optional, QueryNumber } from '../http/validation/fields.js';

const MAX_NAME = 128;
const MAX_REDACT_AFTER_MS = 3_600_000;

/** Accepts `a,b` in a query string. A list with more elements than there are states is cut to one more element, and then rejected. */
const States = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.split(',', RUN_STATES.length + 1) : value,
  );

export class MessageBody {
  @ApiProperty({
    minLength: 1,
    maxLength: INPUT_LIMITS.stringLength,
    example: 'Review the last change.',
    description: 'What the agent shall do.',
  })
  @IsString()
  @Length(1, INPUT_LIMITS.stringLength)
  input: string;

  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    example: { branch: 'main' },
    description: 'A JSON object that the agent receives together with the text.',
  })
  @Optional()
  @IsObject()
  data?: Record<string, unknown>;
}

export class StartRunBody extends MessageBody {
  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_NAME,
    example: 'builder-01',
    description: 'The agentId of a registered agent.',
  })
  @Optional()
  @IsString()
  @Length(1, MAX_NAME)
  agent?: string;

  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_NAME,
    example: 'reviewer',
    description: 'The name of a definition.',
  })
  @Optional()
  @IsString()
  @Length(1, MAX_NAME)
  definition?: string;

  @ApiPropertyOptional({
    type: [String],
    maxItems: MAX_CAPABILITIES,
    example: ['code.review'],
    description: 'The best registered agent with all these capabilities is used.',
  })
  @Optional()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(MAX_CAPABILITIES)
  @IsString({ each: true })
  @Length(1, MAX_NAME, { each: true })
  capabilities?: string[];

  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_NAME,
    example: 'cheapest',
    description: 'How the agents with the capabilities are ranked.',
  })
  @Optional()
  @IsString()
  @Length(1, MAX_NAME)
  prefer?: string;

  @ApiPropertyOptional({
    type: LimitBody,
    description: 'What the run and its descendants may use. The limit of the definition applies, too.',
  })
  @Optional()
  @Nested(() => LimitBody)
  budget?: LimitBody;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    example: '2126-02-24T10:00:00.000Z',
    description: 'When the run must have ended. A run that is not finished at this time is stopped.',
  })
  @Optional()
  @IsDateTime()
  deadline?: string;

  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_REDACT_AFTER_MS,
    example: 600_000,
    description:
      'The contents of the run and its descendants are removed this many milliseconds after its end: inputs, answers, texts of models, ' +
      'and arguments and results of tools.',
  })
  @Optional()
  @IsInt()
  @Min(0)
  @Max(MAX_REDACT_AFTER_MS)
  redactAfterMs?: number;
}

export class RunQuery {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_WAIT_MS,
    example: 0,
    description:
      'Wait up to this many milliseconds until the run is finished or waits for its caller. Takes precedence over `Prefer: wait`. ' +
      'Without both, the request does not wait.',
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(0)
  @Max(MAX_WAIT_MS)
  waitMs?: number;
}

export class RunsQuery extends PageQuery {
  @ApiPropertyOptional({
    type: [String],
    enum: RUN_STATES,
    example: ['running', 'waiting'],
    description: 'Only runs in these states.',
  })
  @IsOptional()
  @States()
  @IsArray()
  @ArrayNotEmpty()
  @ArrayMaxSize(RUN_STATES.length)
  @IsIn(RUN_STATES, { each: true })
  state?: RunStatus[];

  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_NAME,
    example: 'builder-01',
    description: 'Only runs of this agent.',
  })
  @IsOptional()
  @IsString()
  @Length(1, MAX_NAME)
  agent?: string;

  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_NAME,
    example: 'reviewer',
    description: 'Only runs of this definition.',
  })
  @IsOptional()
  @IsString()
  @Length(1, MAX_NAME)
  definition?: string;

  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_NAME,
    description:
      'The id of the run at the top of a tree: lists all runs of this tree. If absent, delegated runs are not listed.',
  })
  @IsOptional()
  @IsString()
  @Length(1, MAX_NAME)
  root?: string;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'Only runs that were started at this time or later.',
  })
  @IsOptional()
  @IsDateTime()
  from?: string;

  @ApiPropertyOptional({
    type: String,
    format: 'date-time',
    description: 'Only runs that were started before this time.',
  })
  @IsOptional()
  @IsDateTime()
  to?: string;
}
