import type { AssistantPart } from '../message.js';
import type { FinishReason, ModelRequest, ModelUsage } from '../model.provider.js';

/** What the model does in one call: it answers, fails, or stops in the middle of the answer. */
export interface Step {
  content: AssistantPart[];
  finish: FinishReason;
  /** The reported usage. The default is an estimate from the length of the texts. */
  usage?: ModelUsage;
  /** Fails with this HTTP status instead of answering. */
  failure?: { status: number; retryAfterMs?: number };
  /** Streams the content, and then either fails or never ends. */
  ending?: 'break' | 'hang';
  delayMs?: number;
  /** Checks the request before the answer. It throws if the request is not as expected. */
  expects?: (request: ModelRequest) => void;
}

/** A step that answers with this text. */
export function say(text: string): Step {
  return { content: [{ type: 'text', text }], finish: 'stop' };
}

export function think(text: string, step: Step): Step {
  return { ...step, content: [{ type: 'reasoning', text }, ...step.content] };
}

/** A step that calls a tool. */
export function callTool(name: string, input: unknown, id?: string): Step {
  return callTools([name, input, id]);
}

/** Several tool calls in one turn. The default ids are derived from the position, so that a script is deterministic. */
export function callTools(...calls: [name: string, input: unknown, id?: string][]): Step {
  const content = calls.map(([name, input, id], index) => ({
    type: 'tool-call' as const,
    id: id ?? `${name}-${index + 1}`,
    name,
    input,
  }));
  return { content, finish: 'tool-calls' };
}

export function refuse(text: string): Step {
  return { ...say(text), finish: 'refusal' };
}

export function runOutOfTokens(text: string): Step {
  return { ...say(text), finish: 'length' };
}

/** A step that fails as a vendor that answers with this HTTP status. */
export function failWith(status: number, options: { retryAfterMs?: number } = {}): Step {
  return { ...say(''), failure: { status, ...options } };
}

export function breakAfter(text: string): Step {
  return { ...say(text), ending: 'break' };
}

export function hangAfter(text: string): Step {
  return { ...say(text), ending: 'hang' };
}

/** Reports exactly this usage, which may be wrong or empty. */
export function using(usage: ModelUsage, step: Step): Step {
  return { ...step, usage };
}

export function after(delayMs: number, step: Step): Step {
  return { ...step, delayMs };
}

export function expecting(expects: (request: ModelRequest) => void, step: Step): Step {
  return { ...step, expects };
}
