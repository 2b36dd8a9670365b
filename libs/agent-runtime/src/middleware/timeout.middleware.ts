import { ProviderError } from '#rollcall/providers';
import type { LoopEvent } from '../loop/loop.step.js';
import { ABANDONED, type RunOutcome } from '../loop/run.outcome.js';
import type { LoopEvents, RunCall, RunMiddleware, RunNext } from './middleware.js';

type RunResult = IteratorResult<LoopEvent, RunOutcome>;

/** How long a run may take to end after it was aborted. After this time, it is abandoned. */
const GRACE_MS = 1_000;

/**
 * Ends a run after this time with the outcome `stopped` and the reason `deadline`. The deadline is also in the context, so it
 * applies to tools and delegated runs. A run that ignores the abort is abandoned after a second.
 */
export function timeout(timeoutMs: number, now: () => number = Date.now): RunMiddleware {
  return { name: 'timeout', run: (call, next) => new TimedRun(call, next, { timeoutMs, now }) };
}

interface TimeLimit {
  readonly timeoutMs: number;
  readonly now: () => number;
}

/** A run with a time limit. The time begins when the reader asks for the first event. */
class TimedRun implements LoopEvents {
  private readonly controller = new AbortController();
  private events?: LoopEvents;
  private timer?: NodeJS.Timeout;
  /** `expired`: aborted at the time limit. `abandoned`: aborted, but it did not end within the grace period. */
  private state: 'new' | 'running' | 'expired' | 'abandoned' | 'ended' = 'new';
  /** Present while the reader waits for an event. */
  private answer?: (result: RunResult) => void;

  constructor(
    private readonly call: RunCall,
    private readonly execute: RunNext,
    private readonly limit: TimeLimit,
  ) {}

  next(): Promise<RunResult> {
    if (this.state === 'ended') return Promise.resolve({ done: true, value: ABANDONED });
    if (this.state === 'abandoned') return Promise.resolve(this.stopped());
    const { events = this.begin() } = this;
    return new Promise((resolve, reject) => {
      this.answer = resolve;
      events.next().then(this.onResult, (error: unknown) => {
        if (this.state === 'expired' && isAbort(error)) resolve(this.stopped());
        else reject(this.failed(error));
      });
    });
  }

  async return(outcome: RunOutcome | PromiseLike<RunOutcome>): Promise<RunResult> {
    const hasExpired = this.state === 'expired' || this.state === 'abandoned';
    this.end();
    const returned = this.events?.return(ABANDONED);
    if (hasExpired) void returned?.catch(() => undefined);
    else await returned;
    return { done: true, value: await outcome };
  }

  async throw(error: unknown): Promise<RunResult> {
    await this.return(ABANDONED);
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return(ABANDONED);
  }

  private begin(): LoopEvents {
    const { call, controller, limit } = this;
    const { signal: caller } = call;
    this.state = 'running';
    caller.addEventListener('abort', this.abort, { once: true });
    if (caller.aborted) this.abort();
    this.timer = setTimeout(this.expire, limit.timeoutMs);
    const deadline = Math.min(call.context.deadline ?? Infinity, limit.now() + limit.timeoutMs);
    this.events = this.execute({ ...call, signal: controller.signal, context: { ...call.context, deadline } });
    return this.events;
  }

  private readonly abort = (): void => this.controller.abort(this.call.signal.reason);

  private readonly expire = (): void => {
    if (this.call.signal.aborted) return;
    this.state = 'expired';
    this.controller.abort(new ProviderError('CALL_ABORTED', 'The run reached its time limit.'));
    this.timer = setTimeout(this.abandon, GRACE_MS);
  };

  private readonly abandon = (): void => {
    this.state = 'abandoned';
    this.answer?.(this.stopped());
  };

  /** The result of a run that reached its limit. Its end is not awaited, because a run that ignores the abort does not end. */
  private stopped(): RunResult {
    this.end();
    void this.events?.return(ABANDONED).catch(() => undefined);
    const detail = `The run reached its time limit of ${this.limit.timeoutMs} ms.`;
    return { done: true, value: { type: 'stopped', reason: 'deadline', detail, parts: [] } };
  }

  private readonly onResult = (result: RunResult): void => {
    const { answer } = this;
    this.answer = undefined;
    if (result.done) this.end();
    answer?.(result);
  };

  private failed(error: unknown): unknown {
    this.end();
    return error;
  }

  private end(): void {
    this.state = 'ended';
    clearTimeout(this.timer);
    this.call.signal.removeEventListener('abort', this.abort);
  }
}

/** An aborted run fails with CALL_ABORTED, or with the AbortError of a Node API. */
function isAbort(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return code === 'CALL_ABORTED' || name === 'AbortError';
}
