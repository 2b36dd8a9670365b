import { Injectable } from '@nestjs/common';
import { RunNotFoundError } from '../run.errors.js';
import type { Run, RunKey } from '../run.js';
import { isFinal } from '../run.status.js';
import { continuesAnswer, type StoredStep } from '../run.step.js';
import { type RunReading, RunStore } from '../store/run.store.js';
import { RunWatches } from './run.watches.js';

/**
 * An event of a run for its observers. Steps and states are complete and in order; all other events may be lost, for example when
 * an observer reconnects. Events with the same `afterStep` belong together, and the first later step replaces them, unless it continues
 * the answer.
 */
export type RunStreamEvent =
  | { readonly type: 'step'; readonly stored: StoredStep }
  /** The state has changed. This is the last event of a run that is finished. */
  | { readonly type: 'state'; readonly run: Run }
  | { readonly type: 'text' | 'reasoning'; readonly text: string; readonly afterStep: number }
  | { readonly type: 'progress'; readonly text: string; readonly afterStep: number };

const PAGE = 100;

/** The live events of runs, on any replica. */
@Injectable()
export class RunFeed {
  /** The observers of a run learn of a change at the same time, and most of them need the same steps. */
  private readonly reads = new SharedReads<RunReading>();

  constructor(
    private readonly store: RunStore,
    private readonly watches: RunWatches,
  ) {}

  /**
   * Yields the steps after `afterStep`, the current state, and then what happens, until the run is finished, the signal is aborted or
   * the replica stops. Rejects with RUN_NOT_FOUND. Steps come from Postgres, the other events from the replica that executes the run.
   */
  async *watch(key: RunKey, afterStep: number, signal: AbortSignal): AsyncGenerator<RunStreamEvent> {
    const watch = this.watches.open(key.id, 'steps');
    let after = afterStep;
    let replaced = 0;
    let known: string | undefined;
    let mayHaveChanged = true;
    try {
      while (!signal.aborted && !this.watches.isStopping) {
        if (mayHaveChanged) {
          const { run, steps } = await this.read(key, after);
          for (const stored of steps) {
            if (!continuesAnswer(stored.step)) replaced = stored.seq;
            yield { type: 'step', stored };
          }
          after = steps.at(-1)?.seq ?? after;
          if (steps.length === PAGE) continue; // the state follows the last step
          if (versionOf(run) !== known) yield { type: 'state', run };
          known = versionOf(run);
          if (isFinal(run.state)) return;
        }
        for (const event of watch.take()) if (event.afterStep >= replaced) yield event;
        mayHaveChanged = await watch.next(Infinity, signal);
      }
    } finally {
      watch.close();
    }
  }

  private async read(key: RunKey, after: number): Promise<RunReading> {
    return await this.reads.read(JSON.stringify([key.namespace, key.id, key.startedBy, after]), async () => {
      const reading = await this.store.withSteps(key, after, PAGE);
      if (!reading) throw new RunNotFoundError(key.id);
      return reading;
    });
  }
}

function versionOf({ state, waitingFor, attempts }: Run): string {
  return `${state} ${waitingFor ?? ''} ${attempts}`;
}

/**
 * Reads something once for all callers that ask for it in the same iteration of the event loop. The read begins after all these
 * calls, so each caller gets everything that was stored before its call.
 */
export class SharedReads<Value> {
  private readonly collecting = new Map<string, Promise<Value>>();

  async read(key: string, read: () => Promise<Value>): Promise<Value> {
    const known = this.collecting.get(key);
    if (known) return await known;
    const shared = this.after(key, read);
    this.collecting.set(key, shared);
    return await shared;
  }

  private async after(key: string, read: () => Promise<Value>): Promise<Value> {
    await new Promise(setImmediate);
    this.collecting.delete(key); // later callers need a later read
    return await read();
  }
}
