import { Injectable } from '@nestjs/common';
import { HoldRecovery } from '../spending/hold.recovery.js';
import type { Run, RunKey } from './run.js';
import { RunJournal } from './run.journal.js';
import { RunLog } from './run.log.js';
import { RunMeter } from './run.meter.js';
import type { RunScope } from './run.scope.js';
import type { RunStep } from './run.step.js';
import { type NewRun, RunStore } from './run.store.js';
import { RunWatches } from './run.watches.js';

/** A run that is executed, with its steps so far. */
export interface RecordedRun {
  readonly run: Run;
  readonly steps: readonly RunStep[];
}

const STEPS_PER_READ = 500;

/** What executions of runs read and write. */
@Injectable()
export class RunRecords {
  constructor(
    private readonly store: RunStore,
    private readonly log: RunLog,
    private readonly watches: RunWatches,
    private readonly holds: HoldRecovery,
    private readonly meter: RunMeter,
  ) {}

  /** When the first execution of a run begins, only the input is stored. */
  async stepsOf({ id, attempts, input }: Run): Promise<RunStep[]> {
    if (attempts === 1) return [{ type: 'message', parts: input }];
    const steps: RunStep[] = [];
    for (;;) {
      const page = await this.store.steps(id, steps.length, STEPS_PER_READ);
      steps.push(...page.map(({ step }) => step));
      if (page.length < STEPS_PER_READ) return steps;
    }
  }

  async find(key: RunKey): Promise<Run | undefined> {
    return await this.store.find(key);
  }

  journal({ run, steps }: RecordedRun, scope: RunScope): RunJournal {
    const { log, watches, holds, meter } = this;
    return new RunJournal({ log, watches, scope, holds, meter }, run, steps.length);
  }

  /** The definition may have received a new revision between the creation of the run and its first execution. */
  async recordRevision({ definition }: Run, revision: number | null, { fence }: RunScope): Promise<void> {
    if (definition && revision !== null && revision !== definition.revision)
      await this.store.setRevision(fence, revision);
  }

  /** Adds a delegated run, or returns the one that an interrupted execution has added. */
  async beginDelegated(draft: NewRun, { fence }: RunScope): Promise<RecordedRun> {
    const added = await this.log.begin(draft, fence);
    if (added) return { run: added, steps: [{ type: 'message', parts: added.input }] };
    const known = await this.store.find(draft);
    if (!known) throw new Error(`the run ${draft.id} belongs to another namespace`);
    return { run: known, steps: await this.stepsOf(known) };
  }
}
