import type { LoopEvent } from '../loop/loop.event.js';
import { ABANDONED, type RunOutcome } from '../loop/run.outcome.js';
import type { RunEvents } from './middleware.js';

type RunResult = IteratorResult<LoopEvent, RunOutcome>;

/** What a middleware does with a run. */
export interface RunObserver {
  /** Called before the first event. If it returns an outcome, the run ends with it and does not begin. */
  onStart?(): void | Promise<RunOutcome | undefined>;
  /** Returns the event that the reader gets instead, if there is one. */
  onEvent?(event: LoopEvent): LoopEvent | undefined | void;
  /** Called when the reader asks for another event. The reader has then processed all earlier events. */
  onNext?(): Promise<void> | undefined;
  onOutcome?(outcome: RunOutcome): void;
  /** Returns the error that the reader gets. */
  onError?(error: unknown): unknown;
  /** The reader stopped before the run had ended. */
  onAbandoned?(): void;
  /** Called last, once, after each run that has started. */
  onEnd?(): void | Promise<void>;
}

/**
 * The events of a run with an observer. A generator with `yield*` does the same, but needs several times the memory and the
 * time for each event.
 */
export class ObservedRun implements RunEvents {
  private state: 'new' | 'running' | 'ended' = 'new';

  constructor(
    private readonly events: RunEvents,
    private readonly observer: RunObserver,
  ) {}

  next(): Promise<RunResult> {
    if (this.state === 'new') return this.first();
    const before = this.state === 'running' ? this.observer.onNext?.() : undefined;
    const result = before ? before.then(() => this.events.next()) : this.events.next();
    return result.then(this.onResult, this.onError);
  }

  async return(outcome: RunOutcome | PromiseLike<RunOutcome>): Promise<RunResult> {
    const wasRunning = this.state === 'running';
    this.state = 'ended';
    try {
      return await this.events.return(outcome);
    } finally {
      if (wasRunning) {
        this.observer.onAbandoned?.();
        await this.observer.onEnd?.();
      }
    }
  }

  throw(error: unknown): Promise<RunResult> {
    return this.events.throw(error).then(this.onResult, this.onError);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return(ABANDONED);
  }

  private async first(): Promise<RunResult> {
    this.state = 'running';
    try {
      const outcome = await this.observer.onStart?.();
      if (outcome) return await this.events.return(outcome).then(this.onResult);
    } catch (error) {
      return await this.onError(error);
    }
    return await this.events.next().then(this.onResult, this.onError);
  }

  private readonly onResult = (result: RunResult): RunResult | Promise<RunResult> => {
    if (result.done) return this.state === 'running' ? this.ended(result) : result;
    const replaced = this.observer.onEvent?.(result.value);
    return replaced ? { done: false, value: replaced } : result;
  };

  private readonly onError = async (error: unknown): Promise<never> => {
    if (this.state !== 'running') throw error;
    this.state = 'ended';
    const reported = this.observer.onError ? this.observer.onError(error) : error;
    await this.observer.onEnd?.();
    throw reported;
  };

  private async ended(result: IteratorReturnResult<RunOutcome>): Promise<RunResult> {
    this.state = 'ended';
    this.observer.onOutcome?.(result.value);
    await this.observer.onEnd?.();
    return result;
  }
}
