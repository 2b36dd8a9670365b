import { setTimeout as delay } from 'node:timers/promises';
import { aborted, ProviderError } from '../../errors.js';
import { type AssistantPart, textOf } from '../message.js';
import type {
  ModelCallOptions,
  ModelEvent,
  ModelProvider,
  ModelReply,
  ModelRequest,
  ModelUsage,
} from '../model.provider.js';
import { codeOfStatus, usageOfStatus } from '../model.vendor.js';
import type { Step } from './script.js';

export interface RecordedCall {
  request: ModelRequest;
  streamed: boolean;
}

/** Returns the step for each request, for scripts without a fixed length. */
export type StepFunction = (request: ModelRequest, callNumber: number) => Step;

const CHARACTERS_PER_TOKEN = 4;

/**
 * A fake model for tests: offline, deterministic and strict. It executes its steps in order, records a copy of every
 * request, and fails if there is no step for a call. `assertAllStepsUsed` fails if steps are left.
 */
export class ScriptedModel implements ModelProvider {
  readonly vendor = 'scripted';
  readonly calls: RecordedCall[] = [];
  /** The number of calls in progress. */
  inFlight = 0;
  private readonly steps: Step[];
  private readonly stepFunction?: StepFunction;

  constructor(
    script: Step[] | StepFunction,
    readonly model = 'script',
  ) {
    this.steps = typeof script === 'function' ? [] : [...script];
    if (typeof script === 'function') this.stepFunction = script;
  }

  add(...steps: Step[]): void {
    this.steps.push(...steps);
  }

  assertAllStepsUsed(): void {
    if (this.steps.length === 0) return;
    const left = this.steps.map(describeStep).join(', ');
    throw mismatch(`The script has ${this.steps.length} steps that no call used: ${left}.`);
  }

  async complete(request: ModelRequest, { signal }: ModelCallOptions = {}): Promise<ModelReply> {
    const step = this.next(request, signal, false);
    return await this.tracked(signal, async () => {
      await begin(step, signal);
      if (step.ending === 'break') throw new ProviderError('MODEL_UNAVAILABLE', 'The script stops the answer here.');
      if (step.ending === 'hang') await forever(signal);
      return replyOf(step, request);
    });
  }

  async *stream(request: ModelRequest, { signal }: ModelCallOptions = {}): AsyncGenerator<ModelEvent> {
    const step = this.next(request, signal, true);
    this.inFlight += 1;
    try {
      await begin(step, signal);
      for (const event of step.content.flatMap(eventsOf)) {
        throwIfAborted(signal);
        yield event;
      }
      if (step.ending === 'break') throw new ProviderError('MODEL_STREAM_BROKEN', 'The script stops the answer here.');
      if (step.ending === 'hang') await forever(signal);
      yield { type: 'finished', reply: replyOf(step, request) };
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }

  private async tracked<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    this.inFlight += 1;
    try {
      return await run();
    } catch (error) {
      throwIfAborted(signal);
      throw error;
    } finally {
      this.inFlight -= 1;
    }
  }

  private next(request: ModelRequest, signal: AbortSignal | undefined, streamed: boolean): Step {
    throwIfAborted(signal);
    this.calls.push({ request: structuredClone(request), streamed });
    const step = this.stepFunction?.(request, this.calls.length) ?? this.steps.shift();
    if (!step) throw unexpected(request, this.calls.length);
    step.expects?.(request);
    return step;
  }
}

/** Returns a model that takes one step for each call. */
export function scripted(...steps: Step[]): ScriptedModel {
  return new ScriptedModel(steps);
}

async function begin({ delayMs, failure }: Step, signal?: AbortSignal): Promise<void> {
  if (delayMs) await delay(delayMs, undefined, { signal });
  if (!failure) return;
  const { status, retryAfterMs } = failure;
  const message = `The script answers ${status} here.`;
  throw new ProviderError(codeOfStatus(status), message, { status, retryAfterMs, usage: usageOfStatus(status) });
}

/** Waits until the call is aborted. Throws if there is no signal, because the wait would never end. */
async function forever(signal?: AbortSignal): Promise<never> {
  if (!signal) throw mismatch('The script hangs here, but the call has no signal to end it.');
  return await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(aborted('The scripted call')), { once: true });
  });
}

function eventsOf(part: AssistantPart): ModelEvent[] {
  if (part.type !== 'tool-call') return pieces(part.text).map((text) => ({ type: part.type, text }));
  const { id, name } = part;
  const text = JSON.stringify(part.input);
  return [
    { type: 'tool-call-started', id, name },
    { type: 'tool-call-input', id, text },
    { type: 'tool-call', call: part },
  ];
}

/** Splits a text into words, as models stream it. */
function pieces(text: string): string[] {
  return text.match(/\S+\s*|\s+/g) ?? [];
}

function replyOf(step: Step, request: ModelRequest): ModelReply {
  return structuredClone({ content: step.content, finish: step.finish, usage: step.usage ?? estimate(step, request) });
}

function estimate({ content }: Step, { messages, tools }: ModelRequest): ModelUsage {
  const tokens = (value: unknown): number => Math.ceil(JSON.stringify(value).length / CHARACTERS_PER_TOKEN);
  return { inputTokens: tokens([messages, tools ?? []]), outputTokens: tokens(content) };
}

function throwIfAborted(signal?: AbortSignal): void {
  if (signal?.aborted) throw aborted('The scripted call');
}

function unexpected({ messages }: ModelRequest, callNumber: number): ProviderError {
  const last = JSON.stringify(messages.at(-1))?.slice(0, 300);
  return mismatch(`The script has no step for call ${callNumber}, whose last message is ${last}.`);
}

function mismatch(message: string): ProviderError {
  return new ProviderError('MODEL_SCRIPT_MISMATCH', message);
}

function describeStep({ content, failure }: Step): string {
  if (failure) return `fail with ${failure.status}`;
  const names = content.flatMap((part) => (part.type === 'tool-call' ? [`call ${part.name}`] : []));
  return names.length > 0 ? names.join(' and ') : `say ${JSON.stringify(textOf(content))}`;
}
