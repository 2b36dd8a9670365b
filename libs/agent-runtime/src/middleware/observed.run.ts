import type { LoopEvent } from '../loop/loop.event.js';
import { ABANDONED, type RunOutcome } from '../loop/run.outcome.js';
import type { RunEvents } from './middleware.js';
import type { RunObserver } from './run.observer.js';

type RunResult = IteratorResult<LoopEvent, RunOutcome>;

/**
 * The events of a run with its observers, which are ordered from the innermost to the outermost. A generator with `yield*` for each
 * observer would do the same, but would need several times the memory and the time for each event.
 */
export class ObservedRun implements RunEvents {
  private state: 'new' | 'running' | 'ended' = 'new';

  constructor(
    private readonly events: RunEvents,
    private observers: readonly RunObserver[],
  ) {}

  next(): Promise<RunResult> {
    if (this.state === 'new') return this.first();
    const before = this.state === 'running' ? this.beforeNext() : undefined;
    const result = before ? before.then(() => this.events.next()) : this.events.next();
    return result.then(this.onResult, this.onError);
  }

  async return(outcome: RunOutcome | PromiseLike<RunOutcome>): Promise<RunResult> {
    const wasRunning = this.state === 'running';
    this.state = 'ended';
    try {
      return await this.events.return(outcome);
    } finally {
      if (wasRunning)
        for (const observer of this.observers) {
          observer.onAbandoned?.();
          await observer.onEnd?.();
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
    const all = this.observers;
    for (let at = all.length - 1; at >= 0; at -= 1) {
      try {
        const outcome = await all[at]?.onStart?.();
        if (!outcome) continue;
        this.observers = all.slice(at); // the observers inside this one were not started
        return await this.events.return(outcome).then(this.onResult);
      } catch (error) {
        this.observers = all.slice(at);
        return await this.onError(error);
      }
    }
    return await this.events.next().then(this.onResult, this.onError);
  }

  private beforeNext(): Promise<void> | undefined {
    let before: Promise<void> | undefined;
    for (const observer of this.observers)
      before = before ? before.then(() => observer.onNext?.()) : observer.onNext?.();
    return before;
  }

  private readonly onResult = (result: RunResult): RunResult | Promise<RunResult> => {
    if (result.done) return this.state === 'running' ? this.ended(result) : result;
    let event = result.value;
    for (const observer of this.observers) event = observer.onEvent?.(event) ?? event;
    return event === result.value ? result : { done: false, value: event };
  };

  private readonly onError = async (error: unknown): Promise<never> => {
    if (this.state !== 'running') throw error;
    this.state = 'ended';
    let reported = error;
    for (const observer of this.observers) {
      if (observer.onError) reported = observer.onError(reported);
      await observer.onEnd?.();
    }
    throw reported;
  };

  private async ended(result: IteratorReturnResult<RunOutcome>): Promise<RunResult> {
    this.state = 'ended';
    for (const observer of this.observers) {
      observer.onOutcome?.(result.value);
      await observer.onEnd?.();
    }
    return result;
  }
}
