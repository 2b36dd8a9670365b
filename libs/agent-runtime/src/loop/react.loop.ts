import {
  type ModelProvider,
  type ModelRequest,
  textOf,
  textPart,
  type ToolCallPart,
  type ToolDeclaration,
  userMessage,
} from '#rollcall/providers';
import type { LoopEvents, ModelCall, ModelDelta, ModelNext, RunCall, RunNext } from '../middleware/middleware.js';
import { SpendingLimitError } from '../spending/spending.errors.js';
import type { CallMemory, MemoryChange } from '../tools/run.memory.js';
import type { CallEnvironment, ToolExecutor } from '../tools/tool.executor.js';
import type { ToolSet } from '../tools/tool.set.js';
import { traceTool } from '../tracing/tracing.middleware.js';
import { summaryRequest } from './context.window.js';
import type { LoopEvent, LoopStep } from './loop.step.js';
import { correctOrStop, type Move, nextMove, type ReactLoopOptions, reviewNeeded, stopped } from './next.move.js';
import { DeadlineReached, RunActivity } from './run.activity.js';
import type { RunContext } from './run.context.js';
import type { RunOutcome } from './run.outcome.js';
import { applyStep, openCalls, type RunState } from './run.state.js';

/** What all runs of an agent share. */
export interface LoopParts {
  readonly model: ModelProvider;
  /** Calls the model through the middleware. */
  readonly callModel: ModelNext;
  readonly executor: Pick<ToolExecutor, 'execute' | 'check'>;
  readonly systemPrompt: string;
  readonly options: ReactLoopOptions;
  tools(context: RunContext): ToolSet;
  /** The memory of a run, with the changes that its stored steps contain. */
  memory(stored?: readonly MemoryChange[]): { ofCall(): CallMemory };
  /** The current time in milliseconds since 1970. */
  now(): number;
}

/** A move whose conditions have been checked. */
type CheckedMove = Exclude<Move, { type: 'answer' }>;
type Work = Exclude<CheckedMove, { type: 'record' | 'end' }>;
type Waiting = Extract<RunOutcome, { type: 'waiting' }>;

/** The loop of an agent: model and tools alternate until there is a final answer, or a limit ends the run (S2.1). */
export function reactLoop(parts: LoopParts): RunNext {
  return (call) => new ReactRun(parts, call).events();
}

/**
 * One run. `nextMove` decides from the state what happens next, and this class executes it. Its reader gets each step and adds it to
 * what the writer of the run stores. Nothing outside happens before the steps that lead to it are stored: the model is called, and
 * tools are executed, after a commit. The reader cancels the run with the signal, or when it stops reading.
 */
class ReactRun {
  private state: RunState;
  private readonly tools: ToolSet;
  private activity: RunActivity;
  private memory?: ReturnType<LoopParts['memory']>;
  /** Whether steps were yielded that nobody stores yet. */
  private hasUnstored = false;
  /** Set if the budget does not cover even the final call. */
  private spendingError?: SpendingLimitError;

  constructor(
    private readonly parts: LoopParts,
    private readonly call: RunCall,
  ) {
    this.state = call.state;
    this.tools = parts.tools(call.context);
  }

  async *events(): LoopEvents {
    const { context, signal } = this.call;
    // The activity has a timer, which `finally` stops. A generator that is closed before its first event never reaches `finally`,
    // so the constructor must not create the activity.
    this.activity = new RunActivity(signal, context.deadline === null ? null : context.deadline - this.parts.now());
    try {
      const review = reviewNeeded(this.state);
      if (review) return review;
      for (;;) {
        const next = this.nextMove();
        const move = next instanceof Promise ? await next : next; // the result is rarely a promise, and an await costs time
        if (move.type === 'end') return move.outcome;
        if (move.type === 'record') for (const step of move.steps) yield this.recorded(step);
        else await this.start(move);
        for (;;) {
          const event = this.activity.take();
          if (event) yield event.type === 'step' ? this.recorded(event.step) : event;
          else if (this.activity.isIdle) break;
          else if (this.hasUnstored) await this.store();
          else await this.activity.change();
        }
      }
    } catch (error) {
      if (error instanceof DeadlineReached) return this.stopped('deadline', 'The deadline of the run has passed.');
      throw error;
    } finally {
      await this.activity.close();
    }
  }

  private nextMove(): CheckedMove | Promise<CheckedMove> {
    if (this.spendingError) return { type: 'end', outcome: this.stopped('budget', this.spendingError.message) };
    const move = nextMove(this.state, this.tools, this.parts.options);
    if (move.type === 'answer') return this.checkAnswer(move.text);
    if (move.type === 'end' && move.outcome.type === 'waiting') return this.checkWaiting(move.outcome);
    return move;
  }

  private recorded(step: LoopStep): LoopEvent {
    this.state = applyStep(this.state, step);
    this.hasUnstored = true;
    return { type: 'step', step };
  }

  private async store(): Promise<void> {
    this.hasUnstored = false;
    await this.call.writer?.commit();
  }

  private async start(move: Work): Promise<void> {
    if (move.type === 'execute') await this.store();
    this.hasUnstored = false; // a model call stores the steps before it, together with its reservation
    this.activity.throwIfOver();
    if (move.type === 'execute') for (const call of move.calls) void this.execute(call);
    else if (move.type === 'summarise') void this.summarise(move.count);
    else void this.takeTurn();
  }

  private async takeTurn(): Promise<void> {
    const turn = this.state.turn + 1;
    this.activity.begin();
    try {
      const request = turnRequest(this.state, this.tools, this.parts);
      const reply = await this.parts.callModel(this.modelCall(request, false));
      this.finish({ type: 'model-replied', turn, reply });
    } catch (error) {
      await this.callFinally(error);
    }
  }

  private async summarise(count: number): Promise<void> {
    const { earlier, turn: last } = this.state;
    const turn = last + 1;
    this.activity.begin();
    try {
      const request = summaryRequest(this.state.messages, count, this.parts.options.contextWindow ?? 0);
      const { content, usage } = await this.parts.callModel(this.modelCall(request, false));
      const summary = textOf(content) || 'No summary is available.';
      const place = { turn, replaced: count, ...(earlier !== undefined && { earlier }) };
      this.finish({ type: 'context-summarised', ...place, summary, usage });
    } catch (error) {
      await this.callFinally(error);
    }
  }

  /** If a call failed because the budget does not cover it, the run makes its final call. */
  private async callFinally(error: unknown): Promise<void> {
    if (!(error instanceof SpendingLimitError)) return this.activity.fail(error);
    const turn = this.state.turn + 1;
    try {
      const request = finalRequest(this.state, this.tools, this.parts);
      const reply = await this.parts.callModel(this.modelCall(request, true));
      this.finish({ type: 'model-replied', turn, reply, isFinal: true, shortage: error.message });
    } catch (again) {
      if (!(again instanceof SpendingLimitError)) return this.activity.fail(again);
      this.spendingError = again;
      this.activity.finish();
    }
  }

  private async execute(call: ToolCallPart): Promise<void> {
    const { turn } = this.state;
    this.activity.begin();
    try {
      const environment = this.environment(turn);
      const { output, failed } = await traceTool(
        call,
        this.call.context,
        async () => await this.parts.executor.execute(call, this.tools, environment),
      );
      const step: LoopStep = { type: 'tool-finished', turn, callId: call.id, name: call.name, output };
      const memory = environment.memory.changes;
      this.finish(failed || memory ? { ...step, ...(failed && { failed }), ...(memory && { memory }) } : step);
    } catch (error) {
      this.activity.fail(error);
    }
  }

  private modelCall(request: ModelRequest, isFinal: boolean): ModelCall {
    const { context, streams, writer } = this.call;
    const turn = this.state.turn + 1;
    const call = { context, model: this.parts.model, request, turn, attempt: 1, isFinal, ...(writer && { writer }) };
    const { signal } = this.activity;
    return streams
      ? { ...call, signal, onDelta: (delta: ModelDelta) => this.activity.emit(delta) }
      : { ...call, signal };
  }

  private finish(step: LoopStep): void {
    this.activity.finish({ type: 'step', step });
  }

  private environment(turn: number): CallEnvironment & { memory: CallMemory } {
    const { context: run, state } = this.call;
    this.memory ??= this.parts.memory(state.memory);
    return { run, turn, signal: this.activity.signal, memory: this.memory.ofCall(), progress: this.progress };
  }

  private readonly progress = (text: string): void =>
    this.activity.emit({ type: 'progress', text, agentName: this.call.context.agentName });

  private async checkAnswer(text: string): Promise<CheckedMove> {
    const { output } = this.parts.options;
    if (!output) return { type: 'end', outcome: { type: 'completed', parts: [textPart(text)] } };
    const result = await output.read(text);
    if (result.ok)
      return { type: 'end', outcome: { type: 'completed', parts: [{ type: 'data', data: result.value }] } };
    const problem = `The answer does not match the output schema: ${result.problems}`;
    const request = `${problem}\nAnswer again, only with JSON that matches the schema.`;
    return correctOrStop(this.state, 'invalid-output', problem, request);
  }

  /** Does not ask an operator to approve a call that cannot be executed; the model receives the problem at once. */
  private async checkWaiting(outcome: Waiting): Promise<CheckedMove> {
    const steps: LoopStep[] = [];
    const waiting = new Set(outcome.approvals.map(({ callId }) => callId));
    for (const { call } of openCalls(this.state.openSteps)) {
      const problem = waiting.has(call.id) ? await this.parts.executor.check(call, this.tools) : undefined;
      if (problem)
        steps.push({ type: 'tool-finished', turn: this.state.turn, callId: call.id, name: call.name, ...problem });
    }
    return steps.length > 0 ? { type: 'record', steps } : { type: 'end', outcome };
  }

  private stopped(reason: 'budget' | 'deadline', detail: string): RunOutcome {
    return stopped(reason, detail, this.state.messages);
  }
}

const FINAL_NOTICE =
  'Your budget is used up, and you cannot call tools any more. Give your final answer now, from what you know. State what is missing.';

/** The request of a turn: the system prompt, the conversation and the tools. */
function turnRequest({ messages }: RunState, { declarations }: ToolSet, parts: LoopParts): ModelRequest {
  const { systemPrompt, options } = parts;
  const request: ModelRequest = {
    messages: systemPrompt === '' ? [...messages] : [{ role: 'system', text: systemPrompt }, ...messages],
  };
  if (declarations.length > 0) request.tools = declarations as ToolDeclaration[]; // not a copy, because the array is the key of cached estimates
  if (options.settings) request.settings = options.settings;
  if (options.output) request.output = { schema: options.output.schema };
  return request;
}

/**
 * The request of the last call of a run that reached its budget. The tools stay declared, because vendors reject a conversation with
 * calls of tools that are not declared, but the model may not call them.
 */
function finalRequest(state: RunState, tools: ToolSet, parts: LoopParts): ModelRequest {
  const request = turnRequest(state, tools, parts);
  request.messages.push(userMessage(FINAL_NOTICE));
  if (request.tools) request.toolChoice = 'none';
  return request;
}
