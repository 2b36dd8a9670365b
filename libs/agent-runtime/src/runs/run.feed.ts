import type { Run, RunKey } from './run.js';
import type { StoredStep } from './run.step.js';

/**
 * An event of a run for its observers. Steps and states are complete and in order; all other events may be lost, for example when
 * an observer reconnects. `afterStep` is the last step before the event; a later step replaces the event.
 */
export type RunStreamEvent =
  | { readonly type: 'step'; readonly stored: StoredStep }
  /** The state has changed. This is the last event of a run that is finished. */
  | { readonly type: 'state'; readonly run: Run }
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly afterStep: number }
  | { readonly type: 'progress'; readonly text: string; readonly afterStep: number };

/** The live events of runs, on any replica. */
export abstract class RunFeed {
  /**
   * Yields the steps after `afterStep`, the current state, and then what happens, until the run is finished, the signal is aborted or
   * the replica stops.
   * Rejects with RUN_NOT_FOUND. Steps come from Postgres, the other events from the replica that executes the run.
   */
  abstract watch(key: RunKey, afterStep: number, signal: AbortSignal): AsyncIterable<RunStreamEvent>;
}
