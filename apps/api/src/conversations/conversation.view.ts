import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { IsOptional, IsString, Length } from 'class-validator';
import {
  type Conversation,
  type ConversationMessage,
  type ConversationReading,
  type ConversationRun,
  RUN_STATES,
  WAITING_FOR,
} from '#rollcall/agent-runtime';
import { PagedList, PageQuery, PageView } from '../http/page.js';
import { type PartView, Parts } from '../runs/part.view.js';
import { RunUsageView } from '../runs/run.view.js';

const TIME = { type: String, format: 'date-time', example: '2026-02-24T10:00:00.000Z' } as const;
const CREATED_BY = 'key:7hW2mNp4Xz';
const MAX_PRINCIPAL = 256;

/** Selects one of the conversations with an id. */
export class ConversationOwnerQuery {
  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_PRINCIPAL,
    description:
      'Two principals that choose the same id have two conversations. Without this parameter, your conversation is meant, or else the ' +
      'oldest one that you see.',
  })
  @IsOptional()
  @IsString()
  @Length(1, MAX_PRINCIPAL)
  createdBy?: string;
}

export class ConversationReadQuery extends PageQuery {
  @ApiPropertyOptional({
    minLength: 1,
    maxLength: MAX_PRINCIPAL,
    description:
      'Two principals that choose the same id have two conversations. Without this parameter, your conversation is meant, or else the ' +
      'oldest one that you see.',
  })
  @IsOptional()
  @IsString()
  @Length(1, MAX_PRINCIPAL)
  createdBy?: string;
}

@ApiSchema({ name: 'ConversationSummary' })
export class ConversationSummaryView {
  @ApiProperty({ example: 'release-notes', description: 'The id that the caller chose.' }) id: string;
  @ApiProperty({ example: 'default', description: 'The namespace.' }) namespace: string;
  @ApiProperty({ example: CREATED_BY, description: 'Who has the conversation.' }) createdBy: string;
  @ApiProperty({ example: 'reviewer', description: 'The agent of the last run.' }) agentId: string;
  @ApiProperty({ type: 'integer', example: 2, description: 'How many runs were started in it.' }) runs: number;
  @ApiProperty({
    type: 'integer',
    example: 0,
    description:
      'How many runs are not finished. The first of them is executed or waits for its caller; the others wait for their turn.',
  })
  openRuns: number;
  @ApiProperty({ ...TIME, description: 'When it began.' }) createdAt: string;
  @ApiProperty({ ...TIME, description: 'When its last run was started.' }) lastRunAt: string;
}

@ApiSchema({ name: 'ConversationPage' })
export class ConversationPageView extends PageView {
  @ApiProperty({ type: [ConversationSummaryView], description: 'The conversations, newest first.' })
  items: ConversationSummaryView[];
}

class ConversationMessageView {
  @ApiProperty({ enum: ['user', 'agent'], example: 'user', description: 'Who wrote the message.' })
  role: 'user' | 'agent';
  @ApiProperty({ ...TIME, description: 'When it was stored.' }) at: string;
  @Parts('The contents: texts, data and files.') parts: PartView[];
}

class ConversationRunView {
  @ApiProperty({ example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f', description: 'The id of the run.' }) id: string;
  @ApiProperty({ example: 'reviewer', description: 'The agent.' }) agentId: string;
  @ApiProperty({ enum: RUN_STATES, example: 'completed', description: 'The state. The last five are final.' })
  state: ConversationRun['state'];
  @ApiProperty({ enum: WAITING_FOR, nullable: true, example: null, description: 'What a waiting run waits for.' })
  waitingFor: ConversationRun['waitingFor'];
  @ApiProperty({ type: RunUsageView, description: 'The usage without descendants.' }) usage: RunUsageView;
  @ApiProperty({ ...TIME, description: 'When it was started.' }) createdAt: string;
  @ApiProperty({ ...TIME, nullable: true, description: 'When it was finished.' }) finishedAt: string | null;
  @ApiProperty({
    type: [ConversationMessageView],
    description: 'The messages of the caller, and the last answer or question of the agent, in order.',
  })
  messages: ConversationMessageView[];
}

class ConversationCostView {
  @ApiProperty({ type: 'integer', example: 2_400, description: 'Tokens.' }) tokens: number;
  @ApiProperty({ type: 'integer', example: 16_200, description: 'Micro-dollars.' }) microUsd: number;
}

export class ConversationView extends ConversationSummaryView {
  @ApiProperty({
    type: ConversationCostView,
    description: 'What all runs and their descendants were charged, from the budget ledger.',
  })
  cost: ConversationCostView;
  @ApiProperty({ type: [ConversationRunView], description: 'The runs, newest first.' }) items: ConversationRunView[];
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'Pass this value as `cursor` to get earlier runs; null on the last page.',
  })
  nextCursor: string | null;
}

export const CONVERSATIONS = new PagedList('conversations');
export const CONVERSATION_RUNS = new PagedList('conversation-runs');

export function toSummaryView(conversation: Conversation): ConversationSummaryView {
  const { id, namespace, createdBy, agentId, runs, openRuns, createdAt, lastRunAt } = conversation;
  return { id, namespace, createdBy, agentId, runs, openRuns, createdAt, lastRunAt };
}

export function toConversationView({ conversation, cost, runs }: ConversationReading, limit: number): ConversationView {
  const { tokens, microUsd } = cost;
  const page = CONVERSATION_RUNS.toPage(runs, limit, toRunView, ({ seq }) => String(seq));
  return { ...toSummaryView(conversation), cost: { tokens, microUsd }, ...page };
}

function toRunView({
  id,
  agentId,
  state,
  waitingFor,
  usage,
  createdAt,
  finishedAt,
  messages,
}: ConversationRun): ConversationRunView {
  const { inputTokens, outputTokens, estimatedTokens, costMicroUsd } = usage;
  const counts = { inputTokens, outputTokens, estimatedTokens, costMicroUsd };
  return {
    id,
    agentId,
    state,
    waitingFor,
    usage: counts,
    createdAt,
    finishedAt,
    messages: messages.map(toMessageView),
  };
}

function toMessageView({ role, at, parts }: ConversationMessage): ConversationMessageView {
  return { role, at, parts: [...parts] };
}
