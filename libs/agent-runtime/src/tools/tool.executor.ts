import { ProviderError, type ToolCallPart } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import { SchemaCheckTimedOutError } from '../schemas/untrusted.schema.js';
import { suggestion } from './closest.name.js';
import type { ParsedInput } from './input/input.reader.js';
import { jsonProblem, storable } from './json.check.js';
import type { RunMemory } from './run.memory.js';
import type { Tool, ToolContext } from './tool.js';
import type { ToolSet } from './tool.set.js';

export interface ToolExecutorOptions {
  /** The time limit of tools that define none. */
  readonly defaultTimeoutMs: number;
  readonly maxInputBytes: number;
  readonly maxOutputChars: number;
  /** Removes secrets from the texts of errors. */
  readonly redact?: (text: string) => string;
}

/** What the model receives for a tool call. */
export interface ToolOutput {
  readonly output: string;
  readonly failed: boolean;
}

/** The parts of a run that its tool calls use. */
export interface CallEnvironment {
  readonly run: RunContext;
  readonly turn: number;
  readonly signal: AbortSignal;
  readonly memory: RunMemory;
  progress(text: string): void;
}

const MAX_NAMES_SHOWN = 50;
const MAX_NAME_SHOWN = 100;
/** A longer error text is cut before secrets are removed from it. This limit is higher than any output limit. */
const MAX_ERROR_CHARS = 1 << 20;

/**
 * Executes tool calls. Everything that goes wrong in a call becomes an output that the model can read: an unknown tool, malformed,
 * invalid or too large input, an error of the tool, its time limit, and a result that is not JSON. The text of an error contains no key
 * that the operator has configured. A call rejects only if the run is cancelled, with CALL_ABORTED, or if the schema of the tool is too
 * expensive, with SCHEMA_CHECK_TIMED_OUT: the model would only repeat the call.
 */
export class ToolExecutor {
  private readonly inProgress = new Set<string>();

  constructor(private readonly options: ToolExecutorOptions) {}

  async execute(call: ToolCallPart, tools: ToolSet, context: CallEnvironment): Promise<ToolOutput> {
    if (context.signal.aborted) throw cancelled(call);
    const problem = this.problemOf(call, tools);
    if (problem) return problem;
    const key = `${context.run.runId}/${call.id}`;
    if (this.inProgress.has(key))
      return this.failed(`Another call with the id ${call.id} is in progress. Use a different id for each call.`);
    this.inProgress.add(key);
    const { tool } = tools.find(call.name)!;
    try {
      const limitMs = tool.timeoutMs ?? this.options.defaultTimeoutMs;
      const value = await new RunningCall(tool, call, context).finish(limitMs);
      return toOutput(value, this.options.maxOutputChars);
    } catch (error) {
      if (context.signal.aborted) throw cancelled(call);
      if (error instanceof SchemaCheckTimedOutError) throw error;
      return this.failed(`The tool ${call.name} failed: ${reasonOf(error)}`);
    } finally {
      this.inProgress.delete(key);
    }
  }

  /**
   * Returns the output of a call that cannot be executed, or undefined if it can. Never executes the call. The loop uses this method
   * before it asks an operator for an approval.
   */
  async check(call: ToolCallPart, tools: ToolSet): Promise<ToolOutput | undefined> {
    const problem = this.problemOf(call, tools);
    if (problem) return problem;
    try {
      const parsed = await tools.find(call.name)?.tool.parse(call.input);
      return parsed?.ok === false ? this.failed(`The input is invalid: ${parsed.problems}.`) : undefined;
    } catch (error) {
      if (error instanceof SchemaCheckTimedOutError) throw error;
      return this.failed(reasonOf(error));
    }
  }

  private problemOf(call: ToolCallPart, tools: ToolSet): ToolOutput | undefined {
    if (!tools.find(call.name)) return this.failed(unknownTool(call.name, tools));
    if (call.malformed !== undefined)
      return this.failed('The input is not valid JSON. Send one JSON object that matches the schema of the tool.');
    const limits = { maxBytes: this.options.maxInputBytes, rejectsReservedNames: true };
    const problem = jsonProblem(call.input, limits);
    return problem === undefined ? undefined : this.failed(`The input ${problem}. Send a smaller or simpler input.`);
  }

  private failed(text: string): ToolOutput {
    const { redact, maxOutputChars } = this.options;
    return failedOutput(redact ? redact(text.slice(0, MAX_ERROR_CHARS)) : text, maxOutputChars);
  }
}

function unknownTool(name: string, { names }: ToolSet): string {
  const known = names.length === 0 ? 'No tools are available' : `Available: ${listed(names)}`;
  return `There is no tool named ${name.slice(0, MAX_NAME_SHOWN)}${suggestion(name, names)}. ${known}.`;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES_SHOWN).join(', ');
  return names.length > MAX_NAMES_SHOWN ? `${shown}, …` : shown;
}

function cancelled({ name }: ToolCallPart): ProviderError {
  return new ProviderError('CALL_ABORTED', `The call of the tool ${name} was cancelled.`);
}

/** The message of any thrown value. */
function reasonOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  try {
    return String(error);
  } catch {
    return 'It threw a value that is not an error.'; // an object without a prototype cannot be converted
  }
}

const MAX_PROGRESS_CHARS = 1_000;
const SETTLED = Promise.resolve();

/**
 * One call of a tool. A tool that ignores its signal is abandoned at its time limit: it may continue, but its result and its
 * progress are dropped. The abort signal, the timer and the listener exist only if the tool needs them, because most calls end
 * at once.
 */
class RunningCall implements ToolContext {
  readonly run: RunContext;
  readonly turn: number;
  readonly callId: string;
  private controller?: AbortController;
  private state: 'running' | 'finished' | 'abandoned' = 'running';
  private reject?: (error: Error) => void;

  constructor(
    private readonly tool: Tool,
    private readonly call: ToolCallPart,
    private readonly environment: CallEnvironment,
  ) {
    this.run = environment.run;
    this.turn = environment.turn;
    this.callId = call.id;
  }

  get memory(): RunMemory {
    return this.environment.memory;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.state === 'abandoned') this.controller.abort(this.environment.signal.reason);
    return this.controller.signal;
  }

  progress(text: string): void {
    if (this.state === 'running') this.environment.progress(text.slice(0, MAX_PROGRESS_CHARS));
  }

  /** Returns the result of the tool. Rejects if the tool fails, exceeds its time limit, or the run is cancelled. */
  async finish(limitMs: number): Promise<unknown> {
    try {
      const result = this.start();
      if (!isPromise(result)) return result;
      let settled = false;
      const settle = (): void => void (settled = true);
      result.then(settle, settle);
      await SETTLED; // a tool that waits for nothing has settled after this
      return settled ? await result : await this.race(result, limitMs);
    } finally {
      if (this.state === 'running') this.state = 'finished';
    }
  }

  private start(): unknown {
    const parsed = this.tool.parse(this.call.input);
    return isPromise(parsed) ? parsed.then((input) => this.execute(input)) : this.execute(parsed);
  }

  private execute(input: ParsedInput): unknown {
    if (input.ok) return this.tool.execute(input.value, this);
    throw new Error(`The input is invalid: ${input.problems}. Correct it and call the tool again.`);
  }

  /** Called when the run is cancelled. */
  handleEvent(): void {
    this.abandon('The run was cancelled.');
  }

  private async race(result: PromiseLike<unknown>, limitMs: number): Promise<unknown> {
    const { signal } = this.environment;
    const timer = setTimeout(() => {
      this.tool.onTimeout?.();
      this.abandon(`It did not finish within ${limitMs} ms.`);
    }, limitMs);
    signal.addEventListener('abort', this, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        this.reject = reject;
        result.then(resolve, reject);
        if (signal.aborted) this.handleEvent(); // aborted after the check of the executor and before the listener was added
      });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', this);
    }
  }

  private abandon(reason: string): void {
    this.state = 'abandoned';
    this.reject?.(new Error(reason));
    this.controller?.abort(this.environment.signal.reason);
  }
}

function isPromise<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

/** A value that is much larger than the output limit is not converted to text at all, because that would block the process. */
const CONVERTED_PER_SHOWN = 8;
const MIN_CONVERTED_BYTES = 1 << 20;

/** Converts the value that a tool returned. A text is not changed, and any other value becomes JSON. A result that is too long is cut. */
function toOutput(value: unknown, maxChars: number): ToolOutput {
  if (typeof value === 'string') return { output: shortened(value, maxChars), failed: false };
  if (value === undefined) return { output: 'The tool returned no value.', failed: false };
  const maxBytes = Math.max(MIN_CONVERTED_BYTES, maxChars * CONVERTED_PER_SHOWN);
  const problem = jsonProblem(value, { maxBytes, rejectsReservedNames: false });
  if (problem !== undefined) return failedOutput(`The tool returned a value that ${problem}.`, maxChars);
  return { output: shortened(JSON.stringify(value) ?? 'null', maxChars), failed: false };
}

function failedOutput(text: string, maxChars: number): ToolOutput {
  return { output: shortened(text, maxChars), failed: true };
}

/** The text without characters that Postgres cannot store, and cut at the limit, with a notice for the model. */
function shortened(text: string, maxChars: number): string {
  if (text.length <= maxChars) return storable(text);
  const notice = `\n[Cut: these are the first ${maxChars} of ${text.length} characters. Request smaller parts if you need the rest.]`;
  return storable(copied(text.slice(0, maxChars))) + notice;
}

/** Copies the text. A slice refers to the whole text, and would keep it in memory until the run ends. */
function copied(slice: string): string {
  return Buffer.from(slice, 'utf16le').toString('utf16le');
}
