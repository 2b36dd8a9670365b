import { type ModelReply, type ModelUsage, userMessage } from '#rollcall/providers';
import { scripted } from '#rollcall/providers/testing';
import type { LoopEvent } from '../loop/loop.step.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import type { LoopEvents, ModelCall, RunCall } from '../middleware/middleware.js';
import { aRun } from './tool-calls.js';

/** Builders of valid values. A test sets only the fields that matter to it. */
export const given = { context: aRun, runCall, modelCall, reply, progress };

function runCall(overrides: Partial<RunCall> = {}): RunCall {
  const state = { messages: [userMessage('Hello')], turn: 0, openSteps: [], corrections: 0, contextTokens: 0 };
  return { context: aRun(), state, signal: new AbortController().signal, streams: false, ...overrides };
}

function modelCall(overrides: Partial<ModelCall> = {}): ModelCall {
  return {
    context: aRun(),
    model: scripted(),
    request: { messages: [userMessage('Hello')] },
    turn: 1,
    attempt: 1,
    isFinal: false,
    signal: new AbortController().signal,
    ...overrides,
  };
}

function reply(text: string, usage: ModelUsage = { inputTokens: 10, outputTokens: 5 }): ModelReply {
  return { content: [{ type: 'text', text }], finish: 'stop', usage };
}

function progress(text = 'working'): LoopEvent {
  return { type: 'progress', text, agentName: 'ada' };
}

/** Reads all events of a run, and returns its outcome. */
export async function outcomeOf(
  events: LoopEvents,
  onEvent: (event: LoopEvent) => void = () => undefined,
): Promise<RunOutcome> {
  for (;;) {
    const step = await events.next();
    if (step.done) return step.value;
    onEvent(step.value);
  }
}
