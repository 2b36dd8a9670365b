import type { ModelProvider, ModelSettings } from '#rollcall/providers';
import type { ModelNext } from '../middleware/middleware.js';
import type { CallMemory, MemoryChange } from '../tools/run.memory.js';
import type { ToolExecutor } from '../tools/tool.executor.js';
import type { ToolSet } from '../tools/tool.set.js';
import type { OutputFormat } from './output.format.js';
import type { RunContext } from './run.context.js';

export interface LoopOptions {
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

/** What all runs of an agent share. */
export interface LoopParts {
  readonly model: ModelProvider;
  /** Calls the model through the middleware. */
  readonly callModel: ModelNext;
  readonly executor: Pick<ToolExecutor, 'execute' | 'check'>;
  readonly systemPrompt: string;
  readonly options: LoopOptions;
  tools(context: RunContext): ToolSet;
  /** The memory of a run, with the changes that its stored steps contain. */
  memory(stored?: readonly MemoryChange[]): { ofCall(): CallMemory };
  /** The current time in milliseconds since 1970. */
  now(): number;
}
