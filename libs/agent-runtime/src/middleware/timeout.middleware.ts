import { ProviderError } from '#rollcall/providers';
import type { RunOutcome } from '../loop/run.outcome.js';
import type { RunCall, RunEvents, RunMiddleware, RunNext } from './middleware.js';

/** How long a run may take to end after it was aborted. Then it is abandoned. */
const GRACE_MS = 1_000;

/**
 * Ends a run after this time with the outcome `stopped` and the reason `deadline`. The deadline is also in the context, so it
 * applies to tools and delegated runs. A run that ignores the abort is abandoned after a second.
 */
export function timeout(timeoutMs: number, now: () => number = Date.now): RunMiddleware {
  return { name: 'timeout', run: (call, next) => limited(call, next, timeoutMs, now) };
}

async function* limited(call: RunCall, next: RunNext, timeoutMs: number, now: () => number): RunEvents {
  const timer = new RunTimer(call.signal, timeoutMs);
  const deadline = Math.min(call.context.deadline ?? Infinity, now() + timeoutMs);
  const events = next({ ...call, signal: timer.signal, context: { ...call.context, deadline } });
  try {
    for (;;) {
      const step = await timer.beforeEnd(events.next());
      if (step === undefined) return stopped(timeoutMs);
      if (step.done) return step.value;
      yield step.value;
    }
  } catch (error) {
    if (timer.hasExpired && isAbort(error)) return stopped(timeoutMs);
    throw error;
  } finally {
    timer.clear();
    // not awaited, because a run that ignores the abort does not end
    if (timer.hasExpired) void events.return(stopped(timeoutMs)).catch(() => undefined);
    else await events.return(stopped(timeoutMs));
  }
}

/** Aborts its signal when the time is over, or when the signal of the caller is aborted. */
class RunTimer {
  hasExpired = false;
  private readonly controller = new AbortController();
  private isOver = false;
  private abandon: () => void = () => undefined;
  private timer: NodeJS.Timeout;

  constructor(
    private readonly outer: AbortSignal,
    timeoutMs: number,
  ) {
    outer.addEventListener('abort', this.abort, { once: true });
    if (outer.aborted) this.abort();
    this.timer = setTimeout(() => this.expire(), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Resolves with undefined if the run has not ended at the end of the grace time. */
  beforeEnd<Value>(work: Promise<Value>): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      if (this.isOver) resolve(undefined);
      this.abandon = () => resolve(undefined);
      work.then(resolve, reject);
    });
  }

  clear(): void {
    clearTimeout(this.timer);
    this.outer.removeEventListener('abort', this.abort);
  }

  private readonly abort = (): void => this.controller.abort(this.outer.reason);

  private expire(): void {
    if (this.outer.aborted) return;
    this.hasExpired = true;
    this.controller.abort(new ProviderError('CALL_ABORTED', 'The run reached its time limit.'));
    this.timer = setTimeout(() => {
      this.isOver = true;
      this.abandon();
    }, GRACE_MS);
  }
}

/** An abort ends in CALL_ABORTED, or in the AbortError of a Node API. */
function isAbort(error: unknown): boolean {
  const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
  return code === 'CALL_ABORTED' || name === 'AbortError';
}

function stopped(timeoutMs: number): RunOutcome {
  const detail = `The run reached its time limit of ${timeoutMs} ms.`;
  return { type: 'stopped', reason: 'deadline', detail, parts: [] };
}
