import type { ToolCallPart } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { RunMemory } from './run.memory.js';
import type { ParsedInput, Tool, ToolContext } from './tool.js';

/** The parts of a run that its tool calls use. */
export interface CallEnvironment {
  readonly run: RunContext;
  readonly turn: number;
  readonly signal: AbortSignal;
  readonly memory: RunMemory;
  progress(text: string): void;
}

const MAX_PROGRESS_CHARS = 1_000;
const SETTLED = Promise.resolve();

/**
 * One call of a tool. A tool that ignores its signal is abandoned at its time limit: it may continue, but its result and its
 * progress are dropped. The abort signal, the timer and the listener exist only if the tool needs them, because most calls end
 * at once.
 */
export class RunningCall implements ToolContext {
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
    const timer = setTimeout(() => this.abandon(`It did not finish within ${limitMs} ms.`), limitMs);
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
