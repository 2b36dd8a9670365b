import type { ToolCallPart } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import { MapRunMemory } from '../tools/run.memory.js';
import {
  type CallEnvironment,
  ToolExecutor,
  type ToolExecutorOptions,
  type ToolOutput,
} from '../tools/tool.executor.js';
import { type Tool, type ToolBox, toolBox } from '../tools/tool.js';
import { ToolSet } from '../tools/tool.set.js';

/** The context of a root run. */
export function aRun(run: Partial<RunContext> = {}): RunContext {
  return {
    namespace: 'default',
    rootRunId: 'run-1',
    runId: 'run-1',
    agentName: 'ada',
    ancestry: [],
    depth: 0,
    deadline: null,
    limits: { maxDepth: 3, maxWidth: 4, maxRuns: 10 },
    ...run,
  };
}

export function aCall(name: string, input: unknown = {}, more: Partial<ToolCallPart> = {}): ToolCallPart {
  return { type: 'tool-call', id: `${name}-1`, name, input, ...more };
}

/** Executes tool calls of one run. */
export class TestCalls {
  readonly abort = new AbortController();
  readonly memory = new MapRunMemory();
  readonly reported: string[] = [];
  readonly executor: ToolExecutor;
  readonly tools: ToolSet;
  private readonly context: CallEnvironment;

  constructor(tools: readonly Tool[] | ToolBox, options: Partial<ToolExecutorOptions> = {}, run = aRun()) {
    const box = 'tools' in tools ? tools : toolBox('test', tools);
    this.tools = ToolSet.of([box], run);
    this.executor = new ToolExecutor({
      defaultTimeoutMs: 60_000,
      maxInputBytes: 1_000_000,
      maxOutputChars: 10_000,
      ...options,
    });
    const progress = (text: string): void => void this.reported.push(text);
    this.context = { run, turn: 1, signal: this.abort.signal, memory: this.memory, progress };
  }

  async execute(call: ToolCallPart, turn = 1): Promise<ToolOutput> {
    return await this.executor.execute(call, this.tools, { ...this.context, turn });
  }

  /** Executes a call with this input, and returns its output. */
  async call(name: string, input: unknown = {}): Promise<ToolOutput> {
    return await this.execute(aCall(name, input));
  }
}
