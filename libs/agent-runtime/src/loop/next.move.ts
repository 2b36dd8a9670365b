import {
  type ContentPart,
  type ModelMessage,
  type ModelSettings,
  textOf,
  textPart,
  type ToolCallPart,
  userMessage,
} from '#rollcall/providers';
import type { Tool } from '../tools/tool.js';
import type { ToolSet } from '../tools/tool.set.js';
import { approvalHashOf } from './approval.hash.js';
import { openQuestion } from './caller.question.js';
import { isTooLong, replaceableCount } from './context.window.js';
import type { LoopStep } from './loop.step.js';
import type { OutputFormat } from './output.format.js';
import type { PendingApproval, RunOutcome, StopReason } from './run.outcome.js';
import { type OpenCall, openCalls, openReply, type RunState, unclearCalls } from './run.state.js';

export interface ReactLoopOptions {
  /** How many model replies a run may use. */
  readonly maxIterations: number;
  /** Whether the model may ask its caller a question. */
  readonly mayAsk: boolean;
  /** The format of the final answer, if it must be JSON. */
  readonly output?: OutputFormat;
  /** The context window of the model in tokens. Without it, the conversation is never shortened. */
  readonly contextWindow?: number;
  readonly settings?: ModelSettings;
}

/** What a run does next. The run continues after every move except `end`. */
export type Move =
  | { readonly type: 'call-model' }
  /** A summary replaces this number of messages. */
  | { readonly type: 'summarise'; readonly count: number }
  | { readonly type: 'record'; readonly steps: readonly LoopStep[] }
  | { readonly type: 'execute'; readonly calls: readonly ToolCallPart[] }
  /** The model has given its final answer. */
  | { readonly type: 'answer'; readonly text: string }
  | { readonly type: 'end'; readonly outcome: RunOutcome };

type ToolFinder = Pick<ToolSet, 'find'>;

type RecordOrEnd = Extract<Move, { type: 'record' | 'end' }>;

const CALL_MODEL: Move = { type: 'call-model' };

/** Decides what a run does next. It depends on the state only, so a resumed run continues where it was interrupted. */
export function nextMove(state: RunState, tools: ToolFinder, options: ReactLoopOptions): Move {
  const open = openReply(state.openSteps);
  if (!open) return beforeReply(state, options);
  const { content, finish } = open.reply;
  if (open.isFinal) return stop(state, 'budget', `The run reached its budget. ${open.shortage ?? ''}`.trim());
  if (finish === 'refusal') return end({ type: 'refused', parts: partsOf(textOf(content)) });
  if (finish === 'length') return stop(state, 'output-limit', 'The model reached its limit of output tokens.');
  if (content.some(({ type }) => type === 'tool-call')) return nextForCalls(state, tools);
  const text = textOf(content);
  return text === '' ? afterEmptyAnswer(state) : { type: 'answer', text };
}

/** Called when a run is resumed. Returns an outcome if an interrupted call must not be repeated without a decision of an operator. */
export function reviewNeeded(state: RunState): RunOutcome | undefined {
  const unclear = unclearCalls(state.openSteps);
  if (unclear.length === 0) return undefined;
  const names = unclear.map(({ call }) => `${call.name} (${call.id})`).join(', ');
  const detail = `The run was interrupted during these tool calls, and it is unknown whether they took effect: ${names}. Record their results, or approve their repetition.`;
  return stopped('needs-review', detail, state.messages);
}

/** The outcome of a run that reached a limit, with the last text of the model as the partial answer. */
export function stopped(reason: StopReason, detail: string, messages: readonly ModelMessage[]): RunOutcome {
  return { type: 'stopped', reason, detail, parts: partsOf(lastText(messages)) };
}

/** Asks the model once to correct its answer. If that does not help, the run stops. */
export function correctOrStop(state: RunState, reason: StopReason, problem: string, request: string): RecordOrEnd {
  if (state.corrections > 0) return stop(state, reason, problem);
  const step: LoopStep = { type: 'message-received', messages: [userMessage(request)], isCorrection: true };
  return { type: 'record', steps: [step] };
}

function beforeReply(state: RunState, { maxIterations, mayAsk, contextWindow }: ReactLoopOptions): Move {
  const question = mayAsk ? openQuestion(state.messages) : undefined;
  if (question !== undefined) return end({ type: 'input-required', parts: partsOf(question) });
  if (state.turn >= maxIterations) return stop(state, 'iterations', `The run used its ${maxIterations} model replies.`);
  if (contextWindow === undefined || !isTooLong(state, contextWindow)) return CALL_MODEL;
  const count = replaceableCount(state.messages, contextWindow);
  return count > 0 ? { type: 'summarise', count } : CALL_MODEL;
}

function afterEmptyAnswer(state: RunState): Move {
  const request = 'Your last answer was empty. Give your final answer as text, or call a tool.';
  return correctOrStop(state, 'empty-answer', 'The model returned empty answers repeatedly.', request);
}

function stop({ messages }: RunState, reason: StopReason, detail: string): RecordOrEnd {
  return end(stopped(reason, detail, messages));
}

function end(outcome: RunOutcome): RecordOrEnd {
  return { type: 'end', outcome };
}

function lastText(messages: readonly ModelMessage[]): string {
  const last = messages.findLast((message) => message.role === 'assistant' && textOf(message.content) !== '');
  return last?.role === 'assistant' ? textOf(last.content) : '';
}

function partsOf(text: string): ContentPart[] {
  return text === '' ? [] : [textPart(text)];
}

/**
 * Decides what happens to the tool calls of a reply. First their start is recorded, then all are executed at once. Calls that need an
 * approval do not delay the others; the run waits for the decisions when the others have ended.
 */
function nextForCalls({ openSteps, turn }: RunState, tools: ToolFinder): Move {
  const steps: LoopStep[] = [];
  const ready: ToolCallPart[] = [];
  const approvals: PendingApproval[] = [];
  for (const open of openCalls(openSteps)) {
    const { call, called, decision, result } = open;
    if (result) continue;
    const tool = tools.find(call.name)?.tool;
    if (decision?.approved === false) steps.push(rejected(turn, call, decision.reason));
    else if (tool?.needsApproval && !decision && call.malformed === undefined)
      approvals.push(approvalOf(open, turn, tool));
    else if (called) ready.push(call);
    else steps.push({ type: 'tool-called', turn, call, idempotent: tool?.idempotent ?? true });
  }
  if (steps.length > 0) return { type: 'record', steps };
  if (ready.length > 0) return { type: 'execute', calls: ready };
  return { type: 'end', outcome: { type: 'waiting', approvals } };
}

function rejected(turn: number, { id, name }: ToolCallPart, reason?: string): LoopStep {
  const output = `An operator rejected this call${reason ? `: ${reason}` : '.'}`;
  return { type: 'tool-finished', turn, callId: id, name, output, failed: true };
}

/** A call whose tool needs no approval may be decided by the caller of the run, who could start the same run again. */
export function approvalOf({ call, asked }: OpenCall, turn: number, tool: Tool | undefined): PendingApproval {
  const { id: callId, name, input } = call;
  const approve = tool && !tool.needsApproval ? 'caller' : (tool?.approve ?? 'operator');
  return { callId, tool: name, input, inputHash: approvalHashOf({ input, turn, asked }), approve };
}
