import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import type { TakenTask } from '#rollcall/agent-runtime';
import { ANY_JSON } from '../../http/one.of.js';
import { Parts, type PartView } from '../../runs/part.view.js';
import { RESULT_OUTCOMES } from './work.reader.js';

const CALL_ID = '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f-1';
const GENERATION = {
  type: 'integer',
  minimum: 1,
  example: 1,
  description: 'The generation of the registration.',
} as const;

const PARTS = [{ type: 'text', text: 'Two faults.' }];

/** Documents the bodies that `work.reader.ts` reads. */
export class TakeBody {
  @ApiProperty(GENERATION) generation: number;
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 1,
    example: 1,
    description: 'How many tasks the agent can execute in addition to those that it holds.',
  })
  max?: number;
  @ApiPropertyOptional({
    type: 'integer',
    minimum: 0,
    maximum: 50_000,
    default: 0,
    example: 0,
    description: 'How long the request waits for a task.',
  })
  waitMs?: number;
  @ApiPropertyOptional({
    type: [String],
    maxItems: 200,
    example: [],
    description:
      'The tasks that the agent holds. Tasks that this registration has taken and that are not in the list were lost on the way, and ' +
      'are delivered again. Absent: nothing is delivered again.',
  })
  holding?: string[];
}

export class TaskProgressBody {
  @ApiProperty(GENERATION) generation: number;
  @ApiPropertyOptional({
    maxLength: 16_000,
    example: 'Reading the files.',
    description: 'What the agent does, for humans.',
  })
  progress?: string;
  @ApiPropertyOptional({
    maxLength: 16_000,
    example: 'Two ',
    description: 'A piece of the answer. Send either text or progress.',
  })
  text?: string;
}

/** A report has either text or progress. */
export const PROGRESS_EXAMPLES = {
  progress: { summary: 'What the agent does', value: { generation: 1, progress: 'Reading the files.' } },
  text: { summary: 'A piece of the answer', value: { generation: 1, text: 'Two ' } },
};

class TaskUsageBody {
  @ApiPropertyOptional({ type: 'integer', minimum: 0, example: 900, description: 'Tokens that the models read.' })
  inputTokens?: number;
  @ApiPropertyOptional({ type: 'integer', minimum: 0, example: 120, description: 'Tokens that the models wrote.' })
  outputTokens?: number;
  @ApiPropertyOptional({ type: 'integer', minimum: 0, example: 450, description: 'The cost in micro-dollars.' })
  costMicroUsd?: number;
}

class TaskArtifactBody {
  @ApiProperty({ example: 'report', description: 'Identifies the artifact within the task.' }) id: string;
  @ApiPropertyOptional({ example: 'report.md', description: 'A name for humans.' }) name?: string;
  @Parts('The contents.', { example: PARTS }) parts: PartView[];
}

export class TaskResultBody {
  @ApiProperty(GENERATION) generation: number;
  @ApiPropertyOptional({
    enum: RESULT_OUTCOMES,
    default: 'completed',
    description:
      '`input-required`: the answer is a question, and the run waits for a message. `stopped`: a limit ended the work. `failed`: the run ' +
      'fails with `detail`.',
  })
  outcome?: (typeof RESULT_OUTCOMES)[number];
  @ApiPropertyOptional({ example: 'Two faults.', description: 'The answer as text.' }) text?: string;
  @ApiPropertyOptional({ ...ANY_JSON, example: { faults: 2 }, description: 'The answer as JSON.' })
  data?: unknown;
  @Parts('The answer as parts: text, data and files.', { isOptional: true, example: PARTS })
  parts?: PartView[];
  @ApiPropertyOptional({
    type: [TaskArtifactBody],
    description: 'Outputs with an identity. Their parts follow the answer.',
  })
  artifacts?: TaskArtifactBody[];
  @ApiPropertyOptional({
    type: TaskUsageBody,
    description: 'What the task used. Without it, the reserved amount is charged.',
  })
  usage?: TaskUsageBody;
  @ApiPropertyOptional({ example: 'max-turns', description: 'Which limit stopped the agent.' }) reason?: string;
  @ApiPropertyOptional({ example: 'The agent made 20 turns.', description: 'An explanation for humans.' })
  detail?: string;
  @ApiPropertyOptional({
    example: 'c-17',
    description: 'The agent receives it again with the next message of the conversation.',
  })
  conversationId?: string;
}

class TaskBudgetView {
  @ApiPropertyOptional({ type: 'integer', example: 32_000, description: 'Tokens.' }) tokens?: number;
  @ApiPropertyOptional({ type: 'integer', example: 20_000, description: 'Micro-dollars.' }) microUsd?: number;
}

class TaskContextView {
  @ApiProperty({ example: CALL_ID.slice(0, -2), description: 'The first run of the tree.' }) rootRunId: string;
  @ApiProperty({ example: CALL_ID.slice(0, -2), description: 'The run that waits for the result.' }) runId: string;
  @ApiProperty({ type: 'integer', example: 0, description: 'How many runs are above this one.' }) depth: number;
  @ApiProperty({
    type: 'number',
    nullable: true,
    example: null,
    description: 'The time by which the result is needed, in milliseconds since 1970.',
  })
  deadline: number | null;
}

export class TakenTaskView {
  @ApiProperty({ example: CALL_ID, description: 'Identifies the task. Reports name it.' }) callId: string;
  @ApiProperty({ example: CALL_ID.slice(0, -2), description: 'The run that waits for the result.' }) runId: string;
  @ApiProperty({ example: 'Review the last change.', description: 'The text of the message.' }) text: string;
  @ApiPropertyOptional({ ...ANY_JSON, example: { branch: 'main' }, description: 'The JSON value of the message.' })
  data?: unknown;
  @Parts('The whole message, with its files.') parts: readonly PartView[];
  @ApiPropertyOptional({ example: 'c-17', description: 'The conversation, as the agent named it in its last result.' })
  conversationId?: string;
  @ApiPropertyOptional({ type: TaskBudgetView, description: 'What the task may use.' }) budget?: TaskBudgetView;
  @ApiPropertyOptional({ type: TaskContextView, description: 'The place of the run in its tree, and its deadline.' })
  context?: TaskContextView;
}

export class TaskDeliveryView {
  @ApiProperty({ type: [TakenTaskView], description: 'The tasks that the agent has now.' }) tasks: TakenTaskView[];
  @ApiProperty({
    type: [String],
    example: [],
    description: 'The tasks in `holding` that the agent must stop: they were cancelled or have ended.',
  })
  cancelled: readonly string[];
}

export class TaskReceiptView {
  @ApiProperty({ example: CALL_ID, description: 'The task.' }) callId: string;
  @ApiProperty({ enum: ['taken', 'finished'], description: 'The state of the task.' }) state: 'taken' | 'finished';
}

export function toTaskView({ callId, runId, content }: TakenTask): TakenTaskView {
  return { callId, runId, ...content };
}
