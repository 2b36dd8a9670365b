import type { LoopEvent } from '../loop/loop.event.js';
import type { RunOutcome } from '../loop/run.outcome.js';

/** What a middleware does with one run. Only `onStart` and `onNext` may throw. */
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
