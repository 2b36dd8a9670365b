import type { AssistantPart } from '../message.js';
import type { FinishReason, ModelRequest } from '../model.provider.js';
import type { ModelUsage } from '../usage.js';

/** What the model does when it is called: answer, fail, or break off. */
export interface Step {
  content: AssistantPart[];
  finish: FinishReason;
  /** What it reports; without it, an estimate by the length of the texts. */
  usage?: ModelUsage;
  /** Answers like a vendor with this status, instead of with content. */
  failure?: { status: number; retryAfterMs?: number };
  /** Streams its content and then breaks off, or never goes on. */
  ending?: 'break' | 'hang';
  delayMs?: number;
  /** Looks at the call before it is answered; throws to refuse it. */
  expects?: (request: ModelRequest) => void;
}

export function say(text: string): Step {
  return { content: [{ type: 'text', text }], finish: 'stop' };
}

export function think(text: string, step: Step): Step {
  return { ...step, content: [{ type: 'reasoning', text }, ...step.content] };
}

export function callTool(name: string, input: unknown, id?: string): Step {
  return callTools([name, input, id]);
}

/** Several calls in one turn. Ids not given are made from the position, so that a script reads the same every time. */
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

export function failWith(status: number, facts: { retryAfterMs?: number } = {}): Step {
  return { ...say(''), failure: { status, ...facts } };
}

export function breakAfter(text: string): Step {
  return { ...say(text), ending: 'break' };
}

export function hangAfter(text: string): Step {
  return { ...say(text), ending: 'hang' };
}

/** Reports exactly this usage, be it too much, too little or none. */
export function using(usage: ModelUsage, step: Step): Step {
  return { ...step, usage };
}

export function after(delayMs: number, step: Step): Step {
  return { ...step, delayMs };
}

export function expecting(expects: (request: ModelRequest) => void, step: Step): Step {
  return { ...step, expects };
}
