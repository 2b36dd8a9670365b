import { ProviderError } from '#rollcall/providers';
import type { LoopEvent } from './loop.step.js';

/** How long a run waits for aborted work that does not end. After that, the work is abandoned. */
const GRACE_MS = 500;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Thrown when the deadline of the run has passed. The loop turns this error into an outcome, and aborts delegated runs with it. */
export class DeadlineReached extends ProviderError {
  constructor() {
    super('CALL_ABORTED', 'The deadline of the run has passed.');
  }
}

/**
 * The model and tool calls that a run has in progress. They report events, which the run reads one by one. All calls end when
 * the caller cancels the run, when the deadline passes, or when `close` is called because the run ends for another reason. No call
 * leaves an unhandled rejection.
 */
export class RunActivity {
  private readonly controller = new AbortController();
  private readonly events: LoopEvent[] = [];
  private readonly timer?: NodeJS.Timeout;
  private pending = 0;
  private failure?: { error: unknown };
  private isPastDeadline = false;
  private wake?: () => void;

  constructor(
    private readonly caller: AbortSignal,
    remainingMs: number | null,
  ) {
    if (caller.aborted) return;
    caller.addEventListener('abort', this, { once: true });
    if (remainingMs === null) return;
    if (remainingMs <= 0) this.isPastDeadline = true;
    else if (remainingMs <= MAX_TIMER_MS) this.timer = setTimeout(() => this.expire(), remainingMs);
  }

  /** Aborted when the run ends while calls are still in progress. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isIdle(): boolean {
    return this.pending === 0;
  }

  emit(event: LoopEvent): void {
    this.events.push(event);
    this.wake?.();
  }

  /** Records the start of a call. The call ends with `finish` or `fail`. */
  begin(): void {
    this.pending += 1;
  }

  /** Records the end of a call, with an event if the call has a result. */
  finish(event?: LoopEvent): void {
    this.pending -= 1;
    if (event) this.events.push(event);
    this.wake?.();
  }

  fail(error: unknown): void {
    this.failure ??= { error };
    this.finish();
  }

  /**
   * Returns the next event, if there is one. Throws when the run must end; events that were reported before the deadline are
   * returned first, because they may be paid replies.
   */
  take(): LoopEvent | undefined {
    if (this.caller.aborted) throw cancelled(this.caller);
    const event = this.events.shift();
    if (event) return event;
    this.throwIfOver();
    if (this.failure) throw this.failure.error;
    return undefined;
  }

  /** Waits for an event, or for the end of a call. */
  change(): Promise<void> {
    return new Promise(this.onWake);
  }

  throwIfOver(): void {
    if (this.caller.aborted) throw cancelled(this.caller);
    if (this.isPastDeadline) throw new DeadlineReached();
  }

  /** Aborts the work in progress, and waits for it for a limited time. */
  async close(): Promise<void> {
    this.caller.removeEventListener('abort', this);
    clearTimeout(this.timer);
    if (this.pending === 0) return;
    this.handleEvent();
    const grace = setTimeout(() => this.abandon(), GRACE_MS);
    while (this.pending > 0) await this.change();
    clearTimeout(grace);
  }

  /** Aborts the work in progress. An abort of the caller's signal also calls this method. */
  handleEvent(): void {
    this.controller.abort(this.caller.aborted ? this.caller.reason : undefined);
    this.wake?.();
  }

  /** Stops waiting for work that ignores the abort. */
  private abandon(): void {
    this.pending = 0;
    this.wake?.();
  }

  private expire(): void {
    this.isPastDeadline = true;
    this.controller.abort(new DeadlineReached());
    this.wake?.();
  }

  private readonly onWake = (wake: () => void): void => {
    this.wake = wake;
  };
}

/** If the signal has a ProviderError as its reason, such as an exceeded time limit, the run fails with that error. */
function cancelled({ reason }: AbortSignal): ProviderError {
  return reason instanceof ProviderError
    ? reason
    : new ProviderError('CALL_ABORTED', 'The run was cancelled by its caller.');
}
