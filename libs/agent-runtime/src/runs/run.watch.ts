import type { LiveEvent } from './run.live.js';

/** What an observer wants to know: everything, or only when the run enters another state. */
export type Observed = 'steps' | 'states';

const MAX_EVENTS = 1_000;

/** One observer of a run. It collects what happens until its owner reads it. */
export class RunWatch {
  private events: LiveEvent[] = [];
  private hasChanged = false;
  private wake?: () => void;

  constructor(
    private readonly observed: Observed,
    private readonly onClose: (watch: RunWatch) => void,
  ) {}

  change(): void {
    this.hasChanged = true;
    this.wake?.();
  }

  /** The run has a new step. */
  step(): void {
    if (this.observed === 'steps') this.change();
  }

  add(event: LiveEvent): void {
    if (this.observed === 'states' || this.events.length >= MAX_EVENTS) return;
    this.events.push(event);
    this.wake?.();
  }

  /** Waits for a change, for a live event, for the timeout, or for the abort. Returns whether the run may have changed. */
  async next(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    let isOver = false;
    if (!this.hasChanged && this.events.length === 0 && !signal?.aborted) {
      const woken = Promise.withResolvers<void>();
      const end = (): void => {
        isOver = true;
        woken.resolve();
      };
      const timer = timeoutMs === Infinity ? undefined : setTimeout(end, timeoutMs);
      this.wake = woken.resolve;
      signal?.addEventListener('abort', end, { once: true });
      await woken.promise;
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      this.wake = undefined;
    }
    const mayHaveChanged = this.hasChanged || isOver;
    this.hasChanged = false;
    return mayHaveChanged;
  }

  /** The live events since the last call. */
  take(): readonly LiveEvent[] {
    const taken = this.events;
    this.events = [];
    return taken;
  }

  close(): void {
    this.onClose(this);
    this.wake?.();
  }
}
