import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import {
  type ContentPreview,
  type PendingCall,
  type ResultPreview,
  type Run,
  RUN_STATES,
  type RunFacts,
  type RunSummary,
  WAITING_FOR,
} from '#rollcall/agent-runtime';
import { ANY_JSON } from '../http/one.of.js';
import { PageView } from '../http/page.js';
import { type PartView, Parts } from './part.view.js';
import { RunStepView } from './step.view.js';

const TIME = { type: String, format: 'date-time', example: '2026-02-24T10:00:00.000Z' } as const;
const ID = '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f';

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

export class RunUsageView {
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
    ...ANY_JSON,
    example: { eur: 5 },
    description: 'The input of the call, any JSON value.',
  })
  input: unknown;
  @ApiProperty({
    example: '9f86d081884c7d65.1.0',
    description:
      'Names the question: the input, the turn, and the decisions before. A decision must contain it. If the agent makes the same call again, it is another question.',
  })
  inputHash: string;
  @ApiProperty({
    enum: ['operator', 'caller'],
    example: 'operator',
    description: 'Who may decide: an operator (`runs:manage`), or also the caller that started the run.',
  })
  approve: 'operator' | 'caller';
}

class RunResultView {
  @Parts('The answer, or the part of it that exists: texts, data and files.') parts: PartView[];
  @ApiPropertyOptional({ example: 'budget', description: 'The limit that stopped the run.' }) reason?: string;
  @ApiPropertyOptional({ example: 'The run reached its budget.', description: 'An explanation for people.' })
  detail?: string;
  @ApiPropertyOptional({ type: [PendingCallView], description: 'The calls that wait for a decision.' })
  approvals?: PendingCallView[];
  @ApiPropertyOptional({ type: RunErrorView, description: 'Why the run failed.' }) error?: RunErrorView;
}

class RunFactsView {
  @ApiProperty({ example: ID, description: 'The id.' }) id: string;
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ example: ID, description: 'The run at the top of the tree.' }) rootId: string;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The run that delegated to this run.' })
  parentId: string | null;
  @ApiProperty({ type: 'integer', example: 0, description: 'The number of runs above this run.' }) depth: number;
  @ApiProperty({ type: String, nullable: true, example: null, description: 'The run that this run repeats.' })
  retryOf: string | null;
  @ApiProperty({
    example: ID,
    description: 'The conversation of the run; the id of the run itself if it was started without one.',
  })
  conversationId: string;
  @ApiProperty({ enum: RUN_STATES, example: 'completed', description: 'The state. The last five are final.' })
  state: Run['state'];
  @ApiProperty({ enum: WAITING_FOR, nullable: true, example: null, description: 'What a waiting run waits for.' })
  waitingFor: Run['waitingFor'];
  @ApiProperty({ example: 'reviewer', description: 'The agent that executes the run.' }) agentId: string;
  @ApiProperty({ type: RunDefinitionView, nullable: true, description: 'Null for an agent outside Rollcall.' })
  definition: RunDefinitionView | null;
  @ApiProperty({ type: RunLimitView, description: 'What the run and its descendants may use.' }) budget: RunLimitView;
  @ApiProperty({ ...TIME, nullable: true, example: null, description: 'When the run must have ended.' })
  deadline: string | null;
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

export class RunView extends RunFactsView {
  @Parts('The input: texts, data and files.') input: PartView[];
  @ApiProperty({
    type: RunResultView,
    nullable: true,
    description:
      'The result. Null until the run is finished or waits for the first time. A result of more than 1 MB is cut; its last part is then ' +
      '`{"type": "data", "data": {"truncated": true, "originalBytes": …, "keptBytes": …}}`.',
  })
  result: RunResultView | null;
}

class ContentPreviewView implements ContentPreview {
  @ApiProperty({
    example: 'Review the last change.',
    description: 'The first 200 characters of the texts. Without a text, the beginning of the data.',
  })
  text: string;
  @ApiProperty({ type: 'integer', example: 1, description: 'The number of parts.' }) parts: number;
  @ApiProperty({ type: 'integer', example: 52, description: 'The size of the parts as JSON.' }) bytes: number;
  @ApiProperty({ example: false, description: 'Whether the contents are more than this text.' }) truncated: boolean;
}

class ResultPreviewView extends ContentPreviewView implements ResultPreview {
  @ApiPropertyOptional({ example: 'budget', description: 'The limit that stopped the run.' }) reason?: string;
  @ApiPropertyOptional({ example: 'The run reached its budget.', description: 'An explanation for people.' })
  detail?: string;
  @ApiPropertyOptional({ type: RunErrorView, description: 'Why the run failed.' }) error?: RunErrorView;
  @ApiPropertyOptional({ type: 'integer', example: 1, description: 'How many calls wait for a decision.' })
  approvals?: number;
}

@ApiSchema({ name: 'RunSummary' })
export class RunSummaryView extends RunFactsView {
  @ApiProperty({ type: ContentPreviewView, description: 'The beginning of the input. Get the run to read all of it.' })
  inputPreview: ContentPreviewView;
  @ApiProperty({
    type: ResultPreviewView,
    nullable: true,
    description: 'The beginning of the result. Null until the run is finished or waits for the first time.',
  })
  resultPreview: ResultPreviewView | null;
}

@ApiSchema({ name: 'RunPage' })
export class RunPageView extends PageView {
  @ApiProperty({ type: [RunSummaryView], description: 'The runs, newest first, without their contents.' })
  items: RunSummaryView[];
}

export class RunStepPage extends PageView {
  @ApiProperty({ type: [RunStepView], description: 'The steps, in order.' }) items: RunStepView[];
}

export function toRunView(run: Run): RunView {
  const { input, result } = run;
  return {
    ...toFactsView(run),
    input: [...input],
    result: result && { ...result, parts: [...result.parts], approvals: result.approvals?.map(toPendingCall) },
  };
}

export function toRunSummaryView(run: RunSummary): RunSummaryView {
  const { inputPreview, resultPreview } = run;
  return { ...toFactsView(run), inputPreview, resultPreview };
}

function toFactsView(run: RunFacts): RunFactsView {
  const { usage } = run;
  const { inputTokens, outputTokens, estimatedTokens, costMicroUsd } = usage;
  return {
    id: run.id,
    namespace: run.namespace,
    rootId: run.rootId,
    parentId: run.parentId,
    depth: run.depth,
    retryOf: run.retryOf,
    conversationId: run.conversationId,
    state: run.state,
    waitingFor: run.waitingFor,
    agentId: run.agentId,
    definition: run.definition,
    budget: run.limit,
    deadline: run.deadline,
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

/** A run that began to wait under an earlier version has calls that do not state who may decide. */
function toPendingCall(call: PendingCall): PendingCallView {
  return { ...call, approve: call.approve ?? 'operator' };
}
