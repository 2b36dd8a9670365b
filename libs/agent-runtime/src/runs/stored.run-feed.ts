import { Injectable } from '@nestjs/common';
import { RunCharges } from './run.charges.js';
import { RunNotFoundError } from './run.errors.js';
import { RunFeed, type RunStreamEvent } from './run.feed.js';
import type { Run, RunKey } from './run.js';
import { isFinal } from './run.status.js';
import type { StoredStep } from './run.step.js';
import { RunStore } from './run.store.js';
import { RunWatches } from './run.watches.js';

/** The longest time until a change is noticed if its message was lost. */
const POLL_MS = 1_000;
const PAGE = 100;

@Injectable()
export class StoredRunFeed extends RunFeed {
  constructor(
    private readonly store: RunStore,
    private readonly watches: RunWatches,
    private readonly charges: RunCharges,
  ) {
    super();
  }

  async *watch(key: RunKey, afterStep: number, signal: AbortSignal): AsyncGenerator<RunStreamEvent> {
    const watch = this.watches.open(key.id);
    let after = afterStep;
    let known: string | undefined;
    let mayHaveChanged = true;
    try {
      while (!signal.aborted && !this.watches.isStopping) {
        if (mayHaveChanged) {
          const run = await this.get(key); // before the steps: a finished run gets no more steps
          for await (const stored of this.stepsAfter(key.id, after)) {
            after = stored.seq;
            yield { type: 'step', stored };
          }
          if (versionOf(run) !== known) yield { type: 'state', run };
          known = versionOf(run);
          if (isFinal(run.state)) return;
        }
        for (const event of watch.take()) if (event.afterStep >= after) yield event;
        mayHaveChanged = await watch.next(POLL_MS, signal);
      }
    } finally {
      watch.close();
    }
  }

  private async get(key: RunKey): Promise<Run> {
    const run = await this.store.find(key);
    if (!run) throw new RunNotFoundError(key.id);
    const [complete = run] = await this.charges.complete([run]);
    return complete;
  }

  private async *stepsAfter(runId: string, start: number): AsyncGenerator<StoredStep> {
    let after = start;
    for (;;) {
      const steps = await this.store.steps(runId, after, PAGE);
      yield* steps;
      after = steps.at(-1)?.seq ?? after;
      if (steps.length < PAGE) return;
    }
  }
}

function versionOf({ state, waitingFor, attempts }: Run): string {
  return `${state} ${waitingFor ?? ''} ${attempts}`;
}
