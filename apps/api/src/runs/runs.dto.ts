import { type ApiParamOptions, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayNotEmpty,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Length,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { RUN_STATES, type RunStatus } from '#rollcall/agent-runtime';
import { MAX_CAPABILITIES } from '#rollcall/registry';
import { LimitBody } from '../budgets/amount.js';
import { INPUT_LIMITS } from '../http/body/input.check.js';
import { PageQuery } from '../http/page.js';
import { MAX_WAIT_MS } from '../http/server/in-flight.js';
import { IsDateTime, Nested, NestedList, Optional, QueryNumber } from '../http/validation/fields.js';

export const FILE_ENCODINGS = ['utf8', 'base64'] as const;
const MAX_NAME = 128;
const MAX_REDACT_AFTER_MS = 3_600_000;

const MAX_CALL_ID = 512;
const MAX_HASH = 128;
export const MAX_REASON = 2_000;
export const MAX_OUTPUT = 20_000;

export const MAX_CONVERSATION_ID = 256;
const MAX_STEP = 2 ** 31 - 1;
const MAX_ID = 128;

export const RUN_ID_PARAM: ApiParamOptions = {
  name: 'id',
  description: 'The id of the run.',
  example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f',
};

export const START_EXAMPLES = {
  definition: {
    summary: 'Run a definition with a budget',
    value: { definition: 'reviewer', input: 'Review the last change.', budget: { tokens: 100_000, microUsd: null } },
  },
  conversation: {
    summary: 'Continue a conversation',
    value: { definition: 'reviewer', input: 'And the one before?', conversationId: 'release-notes' },
  },
  files: {
    summary: 'Run a definition with files',
    value: {
      definition: 'reviewer',
      input: 'Review src/sum.js.',
      files: [{ path: 'src/sum.js', content: 'export const sum = (a, b) => a - b;' }],
    },
  },
  capabilities: {
    summary: 'Run the best agent with these capabilities',
    value: { capabilities: ['code.review'], prefer: 'cheapest', input: 'Review the last change.' },
  },
};

export const DECISION_EXAMPLES = {
  approve: { summary: 'Approve a call', value: { callId: 'call-1', inputHash: '9f86d081884c7d65', approved: true } },
  reject: {
    summary: 'Reject a call',
    value: { callId: 'call-1', inputHash: '9f86d081884c7d65', approved: false, reason: 'The amount is too high.' },
  },
  executed: {
    summary: 'Record the result of an interrupted call that was executed',
    value: { callId: 'call-1', inputHash: '9f86d081884c7d65', approved: true, output: 'paid' },
  },
};

/** Accepts `a,b` in a query string. A list with more elements than there are states is cut to one more element, and then rejected. */
const States = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) =>
    typeof value === 'string' ? value.split(',', RUN_STATES.length + 1) : value,
  );

const MAX_FILES = 200;
const MAX_PATH = 1_024;

/** A file for the workspace of a run. */
export class InputFileBody {
  @ApiProperty({
    minLength: 1,
    maxLength: MAX_PATH,
    example: 'src/sum.js',
    description: 'The path in the workspace, with `/`.',
  })
  @IsString()
  @Length(1, MAX_PATH)
  path: string;

  @ApiProperty({
    maxLength: INPUT_LIMITS.stringLength,
    example: 'export const sum = (a, b) => a - b;\n',
    description: 'The content, as `encoding` says.',
  })
  @IsString()
  @MaxLength(INPUT_LIMITS.stringLength)
  content: string;

  @ApiPropertyOptional({ enum: FILE_ENCODINGS, example: 'utf8', default: 'utf8', description: 'How it is encoded.' })
  @Optional()
  @IsIn(FILE_ENCODINGS)
  encoding?: (typeof FILE_ENCODINGS)[number];

  @ApiPropertyOptional({ maxLength: 200, example: 'text/javascript', description: 'The media type.' })
  @Optional()
  @IsString()
  @Length(1, 200)
  mediaType?: string;
}

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

  @ApiPropertyOptional({
    type: [InputFileBody],
    maxItems: MAX_FILES,
    description:
      'Files for the workspace of the run, if workspaces are on and Rollcall runs the agent. Any other agent receives them with the message.',
  })
  @Optional()
  @NestedList(() => InputFileBody)
  @ArrayMaxSize(MAX_FILES)
  files?: InputFileBody[];
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

  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_CONVERSATION_ID,
    example: 'release-notes',
    description:
      'Continues your conversation with this id, or begins it. The agent receives the messages of the earlier runs on the same agent. The ' +
      'run begins when all earlier runs of the conversation are finished.',
  })
  @Optional()
  @IsString()
  @Length(1, MAX_CONVERSATION_ID)
  conversationId?: string;
}

/** A decision about one of the calls in `result.approvals` of the run. */
export class DecisionBody {
  @ApiProperty({ minLength: 1, maxLength: MAX_CALL_ID, example: 'call-1', description: 'The id of the call.' })
  @IsString()
  @Length(1, MAX_CALL_ID)
  callId: string;

  @ApiProperty({
    minLength: 1,
    maxLength: MAX_HASH,
    example: '9f86d081884c7d65.1.0',
    description:
      'The value of `inputHash` in `result.approvals`. The decision applies to exactly this call and this input, once.',
  })
  @IsString()
  @Length(1, MAX_HASH)
  inputHash: string;

  @ApiProperty({ example: true, description: 'Whether the call may be executed.' })
  @IsBoolean()
  approved: boolean;

  @ApiPropertyOptional({
    maxLength: MAX_REASON,
    example: 'The amount is correct.',
    description: 'The reason for the decision. The agent receives the reason for a rejection.',
  })
  @Optional()
  @IsString()
  @MaxLength(MAX_REASON)
  reason?: string;

  @ApiPropertyOptional({
    maxLength: MAX_OUTPUT,
    example: 'paid',
    description:
      'The result of the call, if you know that it was executed. Only for a run that waits for `needs_review`: the call is then ' +
      'not repeated.',
  })
  @Optional()
  @IsString()
  @MaxLength(MAX_OUTPUT)
  output?: string;
}

export class FileQuery {
  @ApiProperty({ minLength: 1, maxLength: MAX_PATH, example: 'src/sum.js', description: 'The path of the file.' })
  @IsString()
  @Length(1, MAX_PATH)
  path: string;
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

export class RunStreamQuery {
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: MAX_STEP,
    default: 0,
    example: 0,
    description: 'The last step that you have. `Last-Event-ID` has precedence.',
  })
  @IsOptional()
  @QueryNumber()
  @IsInt()
  @Min(0)
  @Max(MAX_STEP)
  afterStep: number = 0;
}

/** The `data` of an `unsubscribe-run` frame. */
export class RunSubscriptionBody {
  @IsString()
  @Length(1, MAX_ID)
  runId: string;
}

/** The `data` of a `subscribe-run` frame. */
export class SubscribeRunBody extends RunSubscriptionBody {
  /** The last step that the client has. */
  @Optional(0)
  @IsInt()
  @Min(0)
  @Max(MAX_STEP)
  afterStep: number = 0;
}
