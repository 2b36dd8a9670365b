import type { ModelProvider, ModelReply, ModelRequest } from '#rollcall/providers';
import type { LoopEvent } from '../loop/loop.step.js';
import type { RunContext } from '../loop/run.context.js';
import type { RunOutcome } from '../loop/run.outcome.js';
import type { RunState } from '../loop/run.state.js';
import type { BudgetUsage, RunWriter, SpendingLimit } from '../spending/spending.js';

/** One execution of the loop. */
export interface RunCall {
  readonly context: RunContext;
  /** The conversation so far: new, or resumed from stored steps. */
  readonly state: RunState;
  readonly signal: AbortSignal;
  /** Whether the reader wants `text` and `reasoning` events. */
  readonly streams: boolean;
  /** The limit that the caller sets for the run and its descendants. It applies if it is less than the limit of the agent. */
  readonly limit?: SpendingLimit;
  /** The usage of the run, if its budget is open and the caller knows its usage. It is not read again then. */
  readonly usage?: BudgetUsage;
  /** Stores the steps of the run. Absent if they are not stored. */
  readonly writer?: RunWriter;
}

export type LoopEvents = AsyncGenerator<LoopEvent, RunOutcome, void>;
export type RunNext = (call: RunCall) => LoopEvents;

/** Wraps a whole run, for example with a time limit. `next` executes the rest of the chain. */
interface WrappingMiddleware {
  readonly name: string;
  run(call: RunCall, next: RunNext): LoopEvents;
}

/** Observes a whole run, for example to log it. It costs less than a middleware that wraps the run. */
interface ObservingMiddleware {
  readonly name: string;
  observe(call: RunCall): RunObserver;
}

/** What a middleware does with one run. Only `onStart`, `onNext` and `onEvent` may throw; the run then fails. */
export interface RunObserver {
  /** Called before the first event. If it returns an outcome, the loop does not begin, and the run ends with that outcome. */
  onStart?(): void | Promise<RunOutcome | undefined>;
  /** Called when the reader asks for another event. At this time, the reader has processed all earlier events. */
  onNext?(): Promise<void> | undefined;
  /** Returns the event that the reader gets instead, if there is one. */
  onEvent?(event: LoopEvent): LoopEvent | undefined;
  onOutcome?(outcome: RunOutcome): void;
  /** Returns the error that the reader gets. */
  onError?(error: unknown): unknown;
  /** The reader stopped before the run had ended. */
  onAbandoned?(): void;
  /** Called last, once, after each run that has started. */
  onEnd?(): void | Promise<void>;
}

/** Code around each run: it wraps the run, or it observes it. */
export type RunMiddleware = WrappingMiddleware | ObservingMiddleware;

/** One attempt to call a model. */
export interface ModelCall {
  readonly context: RunContext;
  readonly model: ModelProvider;
  readonly request: ModelRequest;
  readonly turn: number;
  /**
   * The number of this attempt in the turn, from 1. Each retry and each fallback is another attempt. Run, turn and number together
   * identify an attempt.
   */
  readonly attempt: number;
  /**
   * Whether this is the last call of a run that reached its limit. The model cannot call tools, and the call is charged to the amount
   * reserved for it.
   */
  readonly isFinal: boolean;
  readonly signal: AbortSignal;
  /** Stores the steps before the call; absent if they are not stored. */
  readonly writer?: RunWriter;
  /** Receives the pieces of the reply; absent if the reader does not want them. */
  readonly onDelta?: (delta: ModelDelta) => void;
}

export interface ModelDelta {
  readonly type: 'text' | 'reasoning';
  readonly text: string;
}

export type ModelNext = (call: ModelCall) => Promise<ModelReply>;

/** Wraps each model call, for example with retries. `next` executes the rest of the chain. */
export interface ModelMiddleware {
  readonly name: string;
  call(call: ModelCall, next: ModelNext): Promise<ModelReply>;
}
