import { Inject, Injectable } from '@nestjs/common';
import { Database, inBatches, Periodic } from '#rollcall/platform';
import type { Run } from './run.js';
import { redactedInput, redactResult, redactStep } from './run.redaction.js';
import { RunRedactionStore } from './run-redaction.store.js';
import { RunStore } from './run.store.js';
import { RUNS_OPTIONS, type RunsOptions } from './runs.options.js';

const TREES = 10;
const STEPS = 200;

/**
 * Removes the contents of finished runs: inputs, answers, texts of models, and arguments and results of tools. The runs, their usage and
 * the kinds of their steps stay. An unfinished run keeps its contents, because it needs them to continue.
 */
@Injectable()
export class RunRedactor {
  constructor(
    private readonly db: Database,
    private readonly due: RunRedactionStore,
    private readonly runs: RunStore,
    @Inject(RUNS_OPTIONS) private readonly options: RunsOptions,
  ) {}

  @Periodic('runs.redact', 5_000)
  async redact(): Promise<number> {
    const { redactAfterMs } = this.options;
    const requested = await this.redactAll(async (limit) => await this.due.requested(limit));
    if (redactAfterMs === null) return requested;
    return requested + (await this.redactAll(async (limit) => await this.due.finishedBefore(redactAfterMs, limit)));
  }

  private async redactAll(find: (limit: number) => Promise<string[]>): Promise<number> {
    return await inBatches(TREES, async (limit) => {
      return await this.db.transaction(async () => {
        const roots = await find(limit);
        for (const id of roots) await this.redactTree(id);
        return roots.length;
      });
    });
  }

  private async redactTree(rootId: string): Promise<void> {
    const runs = (await this.runs.tree(rootId)).map(({ run }) => run);
    for (const run of runs) await this.redactSteps(run);
    await this.due.replaceRuns(
      runs.map(({ id, result }) => ({ id, input: redactedInput(), result: result && redactResult(result) })),
    );
  }

  private async redactSteps({ id }: Run): Promise<void> {
    for (let after = 0; ;) {
      const page = await this.runs.steps(id, after, STEPS);
      if (page.length > 0)
        await this.due.replaceSteps(
          id,
          page.map(({ seq, step }) => ({ seq, step: redactStep(step) })),
        );
      if (page.length < STEPS) return;
      after = page.at(-1)?.seq ?? after;
    }
  }
}
