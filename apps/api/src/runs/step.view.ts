import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import type { StoredStep } from '#rollcall/agent-runtime';
import { ANY_JSON, OneOf } from '../http/one.of.js';
import { type PartView, Parts } from './part.view.js';

const TURN = { type: 'integer', example: 1, description: 'The turn of the run: 1, 2, 3 …' } as const;
const CALL_ID = { example: 'call-1', description: 'The id of the call.' };
const TOOL = { example: 'pay', description: 'The name of the tool.' };
const INPUT = { ...ANY_JSON, example: { eur: 5 }, description: 'The input of the call, any JSON value.' };
const OUTPUT = { example: 'paid', description: 'What the tool returned.' };
const FAILED = { example: false, description: 'Whether the call failed. Absent: it succeeded.' };
const IDEMPOTENT = { example: true, description: 'Whether the call may be repeated after a crash.' };
const VENDOR_DATA = {
  type: 'object',
  additionalProperties: true,
  example: { signature: 'c2lnbmF0dXJl' },
  description: 'Data of the model vendor, which is sent back unchanged.',
} as const;
const count = (description: string): { type: 'integer'; example: number; description: string } => ({
  type: 'integer',
  example: 300,
  description: `${description} Absent if unknown.`,
});

class ModelUsageView {
  @ApiPropertyOptional(count('Input tokens, including tokens of a cache.')) inputTokens?: number;
  @ApiPropertyOptional(count('Output tokens, including reasoning.')) outputTokens?: number;
  @ApiPropertyOptional(count('Input tokens that were read from a cache.')) cacheReadTokens?: number;
  @ApiPropertyOptional(count('Input tokens that were written to a cache.')) cacheWriteTokens?: number;
  @ApiPropertyOptional(count('Output tokens for reasoning.')) reasoningTokens?: number;
}

class ChargeView {
  @ApiProperty({ example: 'turn-1', description: 'The name of the reservation within the run.' }) key: string;
  @ApiProperty({ type: 'integer', example: 1_500, description: 'Tokens.' }) tokens: number;
  @ApiProperty({ type: 'integer', nullable: true, example: 8_100, description: 'Micro-dollars; null if unknown.' })
  microUsd: number | null;
  @ApiPropertyOptional({
    enum: [true],
    description: 'The vendor did not report the usage, so the reserved amount is charged.',
  })
  estimated?: true;
}

@ApiSchema({ name: 'ModelText' })
class ModelTextView {
  @ApiProperty({ enum: ['text'], description: 'A text.' }) type: 'text';
  @ApiProperty({ example: 'Line 7 divides by zero.', description: 'The text.' }) text: string;
  @ApiPropertyOptional(VENDOR_DATA) vendorData?: Readonly<Record<string, unknown>>;
}

@ApiSchema({ name: 'ModelReasoning' })
class ModelReasoningView {
  @ApiProperty({ enum: ['reasoning'], description: 'Reasoning of the model.' }) type: 'reasoning';
  @ApiProperty({ example: 'I check line 7 first.', description: 'The text.' }) text: string;
  @ApiPropertyOptional(VENDOR_DATA) vendorData?: Readonly<Record<string, unknown>>;
}

@ApiSchema({ name: 'ModelFile' })
class ModelFileView {
  @ApiProperty({ enum: ['file'], description: 'An attached file.' }) type: 'file';
  @ApiProperty({ example: 'image/png', description: 'The media type.' }) mediaType: string;
  @ApiProperty({ example: 'iVBORw0KGgo=', description: 'The content in Base64.' }) data: string;
  @ApiPropertyOptional({ example: 'plan.png', description: 'The name of the file.' }) filename?: string;
}

@ApiSchema({ name: 'ModelToolCall' })
class ModelToolCallView {
  @ApiProperty({ enum: ['tool-call'], description: 'The model requests a call of a tool.' }) type: 'tool-call';
  @ApiProperty(CALL_ID) id: string;
  @ApiProperty(TOOL) name: string;
  @ApiProperty(INPUT) input: unknown;
  @ApiPropertyOptional({
    example: '{"eur": 5',
    description: 'The input as the model wrote it, if it is not valid JSON. `input` is then an empty object.',
  })
  malformed?: string;
  @ApiPropertyOptional(VENDOR_DATA) vendorData?: Readonly<Record<string, unknown>>;
}

@ApiSchema({ name: 'ModelToolResult' })
class ModelToolResultView {
  @ApiProperty({ enum: ['tool-result'], description: 'The result of a call.' }) type: 'tool-result';
  @ApiProperty(CALL_ID) id: string;
  @ApiProperty(TOOL) name: string;
  @ApiProperty(OUTPUT) output: string;
  @ApiPropertyOptional(FAILED) failed?: boolean;
}

type ReplyContent = ModelTextView | ModelReasoningView | ModelToolCallView;
const REPLY_CONTENT = { text: ModelTextView, reasoning: ModelReasoningView, 'tool-call': ModelToolCallView };

@ApiSchema({ name: 'SystemMessage' })
class SystemMessageView {
  @ApiProperty({ enum: ['system'], description: 'Instructions.' }) role: 'system';
  @ApiProperty({ example: 'You review code.', description: 'The text.' }) text: string;
}

@ApiSchema({ name: 'UserMessage' })
class UserMessageView {
  @ApiProperty({ enum: ['user'], description: 'A message of the caller.' }) role: 'user';
  @OneOf(
    'type',
    { text: ModelTextView, file: ModelFileView },
    { isArray: true, description: 'The contents of the message.' },
  )
  content: readonly (ModelTextView | ModelFileView)[];
}

@ApiSchema({ name: 'AssistantMessage' })
class AssistantMessageView {
  @ApiProperty({ enum: ['assistant'], description: 'A message of the model.' }) role: 'assistant';
  @OneOf('type', REPLY_CONTENT, { isArray: true, description: 'The contents of the message.' })
  content: readonly ReplyContent[];
}

@ApiSchema({ name: 'ToolMessage' })
class ToolMessageView {
  @ApiProperty({ enum: ['tool'], description: 'Results of tools.' }) role: 'tool';
  @ApiProperty({ type: [ModelToolResultView], description: 'The results.' }) content: readonly ModelToolResultView[];
}

type MessageView = SystemMessageView | UserMessageView | AssistantMessageView | ToolMessageView;
const MESSAGES = {
  system: SystemMessageView,
  user: UserMessageView,
  assistant: AssistantMessageView,
  tool: ToolMessageView,
};

class ModelReplyView {
  @OneOf('type', REPLY_CONTENT, { isArray: true, description: 'Texts, reasoning and requested calls.' })
  content: readonly ReplyContent[];
  @ApiProperty({
    enum: ['stop', 'length', 'tool-calls', 'refusal', 'other'],
    example: 'stop',
    description: 'Why the model stopped.',
  })
  finish: 'stop' | 'length' | 'tool-calls' | 'refusal' | 'other';
  @ApiProperty({ type: ModelUsageView, description: 'The tokens of the call.' }) usage: ModelUsageView;
  @ApiPropertyOptional({ example: 'msg_01', description: 'The id that the vendor assigned.' }) id?: string;
  @ApiPropertyOptional({ example: 'scripted-1', description: 'The model that answered.' }) model?: string;
}

class MemoryChangeView {
  @ApiProperty({ example: 'branch', description: 'The key.' }) key: string;
  @ApiProperty({ type: 'integer', example: 1, description: 'The position in the order of all changes of the run.' })
  version: number;
  @ApiPropertyOptional({ ...ANY_JSON, example: 'main', description: 'The new value. Absent: the key was deleted.' })
  value?: unknown;
}

class AgentUsageView extends ModelUsageView {
  @ApiPropertyOptional(count('Micro-dollars.')) costMicroUsd?: number;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'integer' } },
    example: { 'scripted-1': { inputTokens: 1_200, outputTokens: 300 } },
    description: 'The usage by model.',
  })
  byModel?: Record<string, ModelUsageView & { costMicroUsd?: number }>;
}

class RequestedApprovalView {
  @ApiProperty(CALL_ID) callId: string;
  @ApiProperty(TOOL) tool: string;
  @ApiProperty(INPUT) input: unknown;
  @ApiProperty({ example: '9f86d081884c7d65.1.0', description: 'Names the question that was decided.' })
  inputHash: string;
}

class AgentResultView {
  @ApiProperty({
    enum: ['completed', 'input-required', 'refused', 'stopped', 'waiting'],
    example: 'completed',
    description: 'How the call ended.',
  })
  outcome: 'completed' | 'input-required' | 'refused' | 'stopped' | 'waiting';
  @Parts('The answer, or the part of it that exists.') parts: readonly PartView[];
  @ApiProperty({ type: AgentUsageView, description: 'The usage of the call.' }) usage: AgentUsageView;
  @ApiPropertyOptional({ example: 'c-17', description: 'The id of the conversation.' }) conversationId?: string;
  @ApiPropertyOptional({ example: 'budget', description: 'The limit that stopped the call.' }) reason?: string;
  @ApiPropertyOptional({ example: 'The call reached its budget.', description: 'An explanation for people.' })
  detail?: string;
  @ApiPropertyOptional({ type: [RequestedApprovalView], description: 'The calls that wait for a decision.' })
  approvals?: readonly RequestedApprovalView[];
}

@ApiSchema({ name: 'MessageStep' })
class MessageStepView {
  @ApiProperty({ enum: ['message'], description: 'A message of the caller.' }) type: 'message';
  @Parts('Texts, data and files.') parts: readonly PartView[];
  @ApiPropertyOptional({ example: 'm-1', description: 'The id that the caller gave to the message.' })
  messageId?: string;
}

@ApiSchema({ name: 'MessageReceivedStep' })
class MessageReceivedStepView {
  @ApiProperty({ enum: ['message-received'], description: 'Messages for the model.' }) type: 'message-received';
  @OneOf('role', MESSAGES, { isArray: true, description: 'The messages.' }) messages: readonly MessageView[];
  @ApiPropertyOptional({ enum: [true], description: 'The message asks the model to correct its answer.' })
  isCorrection?: true;
}

@ApiSchema({ name: 'ModelRepliedStep' })
class ModelRepliedStepView {
  @ApiProperty({ enum: ['model-replied'], description: 'A reply of the model.' }) type: 'model-replied';
  @ApiProperty(TURN) turn: number;
  @ApiProperty({ type: ModelReplyView, description: 'The reply.' }) reply: ModelReplyView;
  @ApiPropertyOptional({ enum: [true], description: 'The reply to the last call of a run that reached its budget.' })
  isFinal?: true;
  @ApiPropertyOptional({ example: 'The budget has no tokens left.', description: 'What was missing.' })
  shortage?: string;
  @ApiPropertyOptional({ type: [ChargeView], description: 'What the reply costs.' }) charges?: readonly ChargeView[];
}

@ApiSchema({ name: 'ToolCalledStep' })
class ToolCalledStepView {
  @ApiProperty({ enum: ['tool-called'], description: 'A call of a tool begins.' }) type: 'tool-called';
  @ApiProperty(TURN) turn: number;
  @ApiProperty({ type: ModelToolCallView, description: 'The call.' }) call: ModelToolCallView;
  @ApiProperty(IDEMPOTENT) idempotent: boolean;
}

@ApiSchema({ name: 'ToolFinishedStep' })
class ToolFinishedStepView {
  @ApiProperty({ enum: ['tool-finished'], description: 'A call of a tool ended.' }) type: 'tool-finished';
  @ApiProperty(TURN) turn: number;
  @ApiProperty(CALL_ID) callId: string;
  @ApiProperty(TOOL) name: string;
  @ApiProperty(OUTPUT) output: string;
  @ApiPropertyOptional(FAILED) failed?: boolean;
  @ApiPropertyOptional({ type: [MemoryChangeView], description: 'What the call changed in the memory of the run.' })
  memory?: readonly MemoryChangeView[];
}

@ApiSchema({ name: 'ApprovalDecidedStep' })
class ApprovalDecidedStepView {
  @ApiProperty({ enum: ['approval-decided'], description: 'A decision about a call.' }) type: 'approval-decided';
  @ApiProperty(CALL_ID) callId: string;
  @ApiProperty({ example: '9f86d081884c7d65.1.0', description: 'Names the question that was decided.' })
  inputHash: string;
  @ApiProperty({ example: true, description: 'Whether the call may be executed.' }) approved: boolean;
  @ApiPropertyOptional({ example: 'The amount is correct.', description: 'The reason.' }) reason?: string;
}

@ApiSchema({ name: 'ContextSummarisedStep' })
class ContextSummarisedStepView {
  @ApiProperty({ enum: ['context-summarised'], description: 'A summary replaced earlier messages.' })
  type: 'context-summarised';
  @ApiProperty(TURN) turn: number;
  @ApiProperty({ type: 'integer', example: 12, description: 'How many messages were replaced.' }) replaced: number;
  @ApiPropertyOptional({
    type: 'integer',
    example: 9,
    description:
      'How many messages came from earlier runs of the conversation. Absent if the run did not begin with such messages.',
  })
  earlier?: number;
  @ApiProperty({ example: 'The caller asked for a review.', description: 'The summary.' }) summary: string;
  @ApiProperty({ type: ModelUsageView, description: 'The tokens of the summary.' }) usage: ModelUsageView;
  @ApiPropertyOptional({ type: [ChargeView], description: 'What the summary costs.' }) charges?: readonly ChargeView[];
}

@ApiSchema({ name: 'AgentCalledStep' })
class AgentCalledStepView {
  @ApiProperty({ enum: ['agent-called'], description: 'A call of an agent with its own loop begins.' })
  type: 'agent-called';
  @ApiProperty(IDEMPOTENT) idempotent: boolean;
  @ApiPropertyOptional({ example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f.1', description: 'The task that the agent takes.' })
  callId?: string;
}

class RemoteTaskView {
  @ApiProperty({ example: 'task-7', description: 'The id that the agent gave to the task.' }) taskId: string;
  @ApiPropertyOptional({ example: 'context-3', description: 'The context of the task.' }) contextId?: string;
}

@ApiSchema({ name: 'AgentAcceptedStep' })
class AgentAcceptedStepView {
  @ApiProperty({ enum: ['agent-accepted'], description: 'A remote agent accepted the call as a task of its own.' })
  type: 'agent-accepted';
  @ApiProperty({ type: RemoteTaskView, description: 'The task.' }) task: RemoteTaskView;
}

@ApiSchema({ name: 'AuthorizationStep' })
class AuthorizationStepView {
  @ApiProperty({
    enum: ['authorization'],
    description: 'The task of a remote agent waits for an authorization, or continues.',
  })
  type: 'authorization';
  @ApiProperty({ example: true, description: 'Whether the task waits for an authorization.' }) required: boolean;
  @Parts('What the agent says about it.') parts: readonly PartView[];
}

@ApiSchema({ name: 'ToolCallStep' })
class ToolCallStepView {
  @ApiProperty({ enum: ['tool-call'], description: 'The agent calls a tool of its own.' }) type: 'tool-call';
  @ApiProperty(CALL_ID) id: string;
  @ApiProperty(TOOL) name: string;
  @ApiProperty(INPUT) input: unknown;
}

@ApiSchema({ name: 'ToolResultStep' })
class ToolResultStepView {
  @ApiProperty({ enum: ['tool-result'], description: 'A tool of the agent returned.' }) type: 'tool-result';
  @ApiProperty(CALL_ID) id: string;
  @ApiProperty(TOOL) name: string;
  @ApiProperty(OUTPUT) output: string;
  @ApiPropertyOptional(FAILED) failed?: boolean;
}

@ApiSchema({ name: 'FinishedStep' })
class FinishedStepView {
  @ApiProperty({ enum: ['finished'], description: 'The call of the agent ended.' }) type: 'finished';
  @ApiProperty({ type: AgentResultView, description: 'The result.' }) result: AgentResultView;
}

/** The documentation of each step. A step without an entry here does not compile. */
const STEPS = {
  message: MessageStepView,
  'message-received': MessageReceivedStepView,
  'model-replied': ModelRepliedStepView,
  'tool-called': ToolCalledStepView,
  'tool-finished': ToolFinishedStepView,
  'approval-decided': ApprovalDecidedStepView,
  'context-summarised': ContextSummarisedStepView,
  'agent-called': AgentCalledStepView,
  'agent-accepted': AgentAcceptedStepView,
  authorization: AuthorizationStepView,
  'tool-call': ToolCallStepView,
  'tool-result': ToolResultStepView,
  finished: FinishedStepView,
} satisfies Record<StoredStep['step']['type'], unknown>;

type StepContentView = InstanceType<(typeof STEPS)[keyof typeof STEPS]>;

export class RunStepView {
  @ApiProperty({ type: 'integer', example: 2, description: 'The position in the run: 1, 2, 3 … without a gap.' })
  seq: number;
  @ApiProperty({
    type: String,
    format: 'date-time',
    example: '2026-02-24T10:00:00.000Z',
    description: 'When it was stored.',
  })
  at: string;
  @ApiProperty({ enum: Object.keys(STEPS), example: 'model-replied', description: 'What happened: `step.type`.' })
  type: StepContentView['type'];
  @OneOf('type', STEPS, { description: 'The step. Its fields depend on its `type`.' }) step: StepContentView;
}

export function toStepView({ seq, at, step }: StoredStep): RunStepView {
  return { seq, at, type: step.type, step };
}
