import { type ModelReply, ProviderError } from '#rollcall/providers';
import type { LoopEvent } from '../loop/loop.step.js';
import { ABANDONED, type RunOutcome } from '../loop/run.outcome.js';
import type {
  LoopEvents,
  ModelCall,
  ModelMiddleware,
  ModelNext,
  RunMiddleware,
  RunNext,
  RunObserver,
} from './middleware.js';

type Observing = Extract<RunMiddleware, { observe: unknown }>;

/** The first middleware is the outermost. Compose once for each agent, not for each run. */
export function composeRun(middleware: readonly RunMiddleware[], loop: RunNext): RunNext {
  let observing: Observing[] = [];
  let next = loop;
  for (const one of middleware.toReversed()) {
    if ('observe' in one) observing.push(one);
    else [next, observing] = [wrapped(one, observed(observing, next)), []];
  }
  return observed(observing, next);
}

function wrapped(one: Exclude<RunMiddleware, Observing>, next: RunNext): RunNext {
  return (call) => one.run(call, next);
}

/** `observing` is ordered from the innermost to the outermost. All share one wrapper, because each event passes through every wrapper. */
function observed(observing: readonly Observing[], next: RunNext): RunNext {
  if (observing.length === 0) return next;
  return (call) => {
    const observers = observing.map((one) => one.observe(call));
    return new ObservedRun(next(call), observers);
  };
}

/** The first middleware is the outermost. Compose once for each agent, not for each call. */
export function composeModel(middleware: readonly ModelMiddleware[], call: ModelNext): ModelNext {
  return middleware.reduceRight<ModelNext>((next, one) => (made) => one.call(made, next), call);
}

/** Calls the model once. It is the innermost part of the model middleware. All steps before the call are stored first. */
export function attemptModel(call: ModelCall): Promise<ModelReply> {
  return call.writer ? call.writer.commit().then(() => callModel(call)) : callModel(call);
}

function callModel(call: ModelCall): Promise<ModelReply> {
  return call.onDelta ? streamed(call) : call.model.complete(call.request, { signal: call.signal });
}

async function streamed({ model, request, signal, onDelta }: ModelCall): Promise<ModelReply> {
  for await (const event of model.stream(request, { signal })) {
    if (event.type === 'finished') return event.reply;
    if (event.type === 'text' || event.type === 'reasoning') onDelta?.({ type: event.type, text: event.text });
  }
  const message = `${model.vendor} ${model.model} ended its answer before it was complete.`;
  throw new ProviderError('MODEL_STREAM_BROKEN', message);
}

type RunResult = IteratorResult<LoopEvent, RunOutcome>;

/**
 * The events of a run with its observers, which are ordered from the innermost to the outermost. A generator with `yield*` for each
 * observer would do the same, but would need several times the memory and the time for each event.
 */
class ObservedRun implements LoopEvents {
  private state: 'new' | 'running' | 'ended' = 'new';

  constructor(
    private readonly events: LoopEvents,
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
    try {
      for (const observer of this.observers) event = observer.onEvent?.(event) ?? event;
    } catch (error) {
      return this.events.return(ABANDONED).then(async () => await this.onError(error));
    }
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
