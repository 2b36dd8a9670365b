import { type ContentPart, type ModelMessage, textOf, textPart, userMessage } from '#rollcall/providers';
import { openQuestion } from './caller.question.js';
import { isTooLong, replaceableCount } from './context.window.js';
import type { LoopOptions } from './loop.parts.js';
import type { Move } from './move.js';
import { openReply, unclearCalls } from './open.turn.js';
import type { RunOutcome, StopReason } from './run.outcome.js';
import type { RunState } from './run.state.js';
import type { Step } from './step.js';
import { nextForCalls, type ToolFinder } from './tool.turn.js';

type RecordOrEnd = Extract<Move, { type: 'record' | 'end' }>;

const CALL_MODEL: Move = { type: 'call-model' };

/** Decides what a run does next. It depends on the state only, so a resumed run continues where it was interrupted. */
export function nextMove(state: RunState, tools: ToolFinder, options: LoopOptions): Move {
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
  const step: Step = { type: 'message-received', messages: [userMessage(request)], isCorrection: true };
  return { type: 'record', steps: [step] };
}

function beforeReply(state: RunState, { maxIterations, mayAsk, contextWindow }: LoopOptions): Move {
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
