import { Injectable } from '@nestjs/common';
import { RunNotFoundError } from './run.errors.js';
import { RunFeed, type RunStreamEvent } from './run.feed.js';
import type { Run, RunKey } from './run.js';
import { isFinal } from './run.status.js';
import { type RunReading, RunStore } from './run.store.js';
import { RunWatches } from './run.watches.js';
import { SharedReads } from './shared.reads.js';

const PAGE = 100;

@Injectable()
export class StoredRunFeed extends RunFeed {
  /** The observers of a run learn of a change at the same time, and most of them need the same steps. */
  private readonly reads = new SharedReads<RunReading>();

  constructor(
    private readonly store: RunStore,
    private readonly watches: RunWatches,
  ) {
    super();
  }

  async *watch(key: RunKey, afterStep: number, signal: AbortSignal): AsyncGenerator<RunStreamEvent> {
    const watch = this.watches.open(key.id, 'steps');
    let after = afterStep;
    let known: string | undefined;
    let mayHaveChanged = true;
    try {
      while (!signal.aborted && !this.watches.isStopping) {
        if (mayHaveChanged) {
          const { run, steps } = await this.read(key, after);
          for (const stored of steps) yield { type: 'step', stored };
          after = steps.at(-1)?.seq ?? after;
          if (steps.length === PAGE) continue; // the state follows the last step
          if (versionOf(run) !== known) yield { type: 'state', run };
          known = versionOf(run);
          if (isFinal(run.state)) return;
        }
        for (const event of watch.take()) if (event.afterStep >= after) yield event;
        mayHaveChanged = await watch.next(Infinity, signal);
      }
    } finally {
      watch.close();
    }
  }

  private async read(key: RunKey, after: number): Promise<RunReading> {
    return await this.reads.read(`${key.namespace}/${key.id}/${after}`, async () => {
      const reading = await this.store.withSteps(key, after, PAGE);
      if (!reading) throw new RunNotFoundError(key.id);
      return reading;
    });
  }
}

function versionOf({ state, waitingFor, attempts }: Run): string {
  return `${state} ${waitingFor ?? ''} ${attempts}`;
}
