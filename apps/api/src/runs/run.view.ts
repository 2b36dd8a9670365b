import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { type ListedRun, type Run, RUN_STATES, type StoredStep, WAITING_FOR } from '#rollcall/agent-runtime';
import { PageView } from '../http/page.js';

const TIME = { type: String, format: 'date-time', example: '2026-02-24T10:00:00.000Z' } as const;
const ID = '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f';
const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

class RunDefinitionView {
  @ApiProperty({ example: 'reviewer', description: 'The name.' }) name: string;
  @ApiProperty({
    type: 'integer',
    example: 3,
    description:
      'The revision with which the run is executed. Before its execution: the revision when the run was started.',
  })
  revision: number;
}

class RunLimitView {
  @ApiProperty({ type: 'integer', nullable: true, example: 100_000, description: 'Tokens; null is unlimited.' })
  tokens: number | null;
  @ApiProperty({ type: 'integer', nullable: true, example: null, description: 'Micro-dollars; null is unlimited.' })
  microUsd: number | null;
}

class RunUsageView {
  @ApiPropertyOptional({ type: 'integer', example: 1_200, description: 'Absent if unknown.' }) inputTokens?: number;
  @ApiPropertyOptional({ type: 'integer', example: 300, description: 'Absent if unknown.' }) outputTokens?: number;
  @ApiPropertyOptional({
    type: 'integer',
    example: 4_200,
    description:
      'Of a finished run: the tokens that its budget was charged for calls without a reported usage, such as a model call that ' +
      'was aborted. Absent if there are none.',
  })
  estimatedTokens?: number;
  @ApiPropertyOptional({ type: 'integer', example: 8_100, description: 'Micro-dollars; absent if unknown.' })
  costMicroUsd?: number;
}

class RunErrorView {
  @ApiProperty({ example: 'MODEL_UNAVAILABLE', description: 'A stable code.' }) code: string;
  @ApiProperty({ example: 'The model did not respond.', description: 'An explanation for people.' }) message: string;
}

class PendingCallView {
  @ApiProperty({ example: 'call-1', description: 'The id of the call.' }) callId: string;
  @ApiPropertyOptional({ example: ID, description: 'The delegated run that made the call. Absent if the run made it.' })
  runId?: string;
  @ApiProperty({ example: 'pay', description: 'The tool.' }) tool: string;
  @ApiProperty({
    ...ANY_OBJECT,
    nullable: true,
    example: { eur: 5 },
    description: 'The input of the call, any JSON value.',
  })
  input: unknown;
  @ApiProperty({ example: '9f86d081884c7d65', description: 'The hash of the input. A decision must contain it.' })
  inputHash: string;
}

class RunResultView {
  @ApiProperty({
    type: 'array',
    items: ANY_OBJECT,
    example: [{ type: 'text', text: 'Line 7 divides by zero.' }],
    description: 'The answer, or the part of it that exists: texts, data and files.',
  })
  parts: object[];
  @ApiPropertyOptional({ example: 'budget', description: 'The limit that stopped the run.' }) reason?: string;
  @ApiPropertyOptional({ example: 'The run reached its budget.', description: 'An explanation for people.' })
  detail?: string;
  @ApiPropertyOptional({ type: [PendingCallView], description: 'The calls that wait for a decision.' })
  approvals?: PendingCallView[];
  @ApiPropertyOptional({ type: RunErrorView, description: 'Why the run failed.' }) error?: RunErrorView;
}

export class RunView {
  @ApiProperty({ example: ID, description: 'The id.' }) id: string;
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ example: ID, description: 'The run at the top of the tree.' }) rootId: string;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The run that delegated to this run.' })
  parentId: string | null;
  @ApiProperty({ type: 'integer', example: 0, description: 'The number of runs above this run.' }) depth: number;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The run that this run repeats.' })
  retryOf: string | null;
  @ApiProperty({ enum: RUN_STATES, example: 'completed', description: 'The state. The last five are final.' })
  state: Run['state'];
  @ApiProperty({ enum: WAITING_FOR, nullable: true, example: null, description: 'What a waiting run waits for.' })
  waitingFor: Run['waitingFor'];
  @ApiProperty({ example: 'reviewer', description: 'The agent that executes the run.' }) agentId: string;
  @ApiProperty({ type: RunDefinitionView, nullable: true, description: 'Null for an agent outside Rollcall.' })
  definition: RunDefinitionView | null;
  @ApiProperty({
    type: 'array',
    items: ANY_OBJECT,
    example: [{ type: 'text', text: 'Review the last change.' }],
    description: 'The input: texts, data and files.',
  })
  input: object[];
  @ApiProperty({ type: RunLimitView, description: 'What the run and its descendants may use.' }) budget: RunLimitView;
  @ApiProperty({ ...TIME, nullable: true, example: null, description: 'When the run must have ended.' })
  deadline: string | null;
  @ApiProperty({
    type: RunResultView,
    nullable: true,
    description: 'The result. Null until the run is finished or waits for the first time.',
  })
  result: RunResultView | null;
  @ApiProperty({ type: RunUsageView, description: 'The usage without descendants, at the last change of the state.' })
  usage: RunUsageView;
  @ApiProperty({
    type: 'integer',
    example: 1,
    description: 'How often a replica has begun or continued the execution.',
  })
  attempts: number;
  @ApiProperty({ example: 'key:7hW2mNp4Xz', description: 'Who started the run.' }) createdBy: string;
  @ApiProperty({ ...TIME, description: 'When the run was started.' }) createdAt: string;
  @ApiProperty({ ...TIME, nullable: true, description: 'When its execution began.' }) startedAt: string | null;
  @ApiProperty({ ...TIME, nullable: true, description: 'When it was finished.' }) finishedAt: string | null;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description:
      'How many milliseconds after the end of the run its contents are removed. Null if the request that started it did not set this.',
  })
  redactAfterMs: number | null;
  @ApiProperty({
    ...TIME,
    nullable: true,
    example: null,
    description: 'When the contents were removed. `[redacted]` then replaces the texts of the run and its steps.',
  })
  redactedAt: string | null;
}

@ApiSchema({ name: 'RunPage' })
export class RunPageView extends PageView {
  @ApiProperty({ type: [RunView], description: 'The runs, newest first.' }) items: RunView[];
}

export class RunStepView {
  @ApiProperty({ type: 'integer', example: 2, description: 'The position in the run: 1, 2, 3 … without a gap.' })
  seq: number;
  @ApiProperty({ ...TIME, description: 'When it was stored.' }) at: string;
  @ApiProperty({ example: 'model-replied', description: 'What happened, such as `model-replied` or `tool-finished`.' })
  type: string;
  @ApiProperty({
    ...ANY_OBJECT,
    example: { type: 'model-replied', turn: 1 },
    description: 'The step. Its fields depend on `type`.',
  })
  step: object;
}

export class RunStepPage extends PageView {
  @ApiProperty({ type: [RunStepView], description: 'The steps, in order.' }) items: RunStepView[];
}

export function toRunView(run: Run | ListedRun): RunView {
  const { result, usage } = run;
  const { inputTokens, outputTokens, estimatedTokens, costMicroUsd } = usage;
  return {
    id: run.id,
    namespace: run.namespace,
    rootId: run.rootId,
    parentId: run.parentId,
    depth: run.depth,
    retryOf: run.retryOf,
    state: run.state,
    waitingFor: run.waitingFor,
    agentId: run.agentId,
    definition: run.definition,
    input: [...run.input],
    budget: run.limit,
    deadline: run.deadline,
    result: result && { ...result, parts: [...result.parts], approvals: result.approvals && [...result.approvals] },
    usage: { inputTokens, outputTokens, estimatedTokens, costMicroUsd },
    attempts: run.attempts,
    createdBy: run.createdBy,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    redactAfterMs: run.redactAfterMs,
    redactedAt: run.redactedAt,
  };
}

export function toStepView({ seq, at, step }: StoredStep): RunStepView {
  return { seq, at, type: step.type, step };
}
