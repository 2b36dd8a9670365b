import { Inject, Injectable } from '@nestjs/common';
import { Database, inBatches, Periodic } from '#rollcall/platform';
import type { Run } from '../run.js';
import { previewOf, resultPreviewOf } from '../run.preview.js';
import type { RunResult } from '../run.status.js';
import type { StoredStep } from '../run.step.js';
import { RUNS_OPTIONS, type RunsOptions } from '../runs.options.js';
import { RunStore } from '../store/run.store.js';
import { redactedInput, redactResult, redactStep } from './run.redaction.js';

/** The contents that replace those of a run. */
type RedactedRun = Pick<Run, 'id' | 'input'> & { readonly result: RunResult | null };

const UNREDACTED = 'parent_id IS NULL AND redacted_at IS NULL';
const IN_ORDER = 'ORDER BY finished_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED';

/** Finds finished runs whose contents are due for removal, and replaces the contents. */
@Injectable()
export class RunRedactionStore {
  constructor(private readonly db: Database) {}

  /** The ids of roots that finished at least this long ago. They are locked until the transaction ends. */
  async finishedBefore(ms: number, limit: number): Promise<string[]> {
    return await this.ids(
      `SELECT id FROM run WHERE ${UNREDACTED}
         AND finished_at <= clock_timestamp() - $2 * interval '1 millisecond' ${IN_ORDER}`,
      [limit, ms],
    );
  }

  /** Like `finishedBefore`, but with the time that was requested when each run was started. */
  async requested(limit: number): Promise<string[]> {
    return await this.ids(
      `SELECT id FROM run WHERE ${UNREDACTED} AND redact_after_ms IS NOT NULL
         AND finished_at <= clock_timestamp() - redact_after_ms * interval '1 millisecond' ${IN_ORDER}`,
      [limit],
    );
  }

  async replaceRuns(runs: readonly RedactedRun[]): Promise<void> {
    await this.db.query(
      `UPDATE run SET input = redacted.input, result = redacted.result, input_preview = redacted.input_preview,
         result_preview = redacted.result_preview, a2a = NULL, redacted_at = clock_timestamp()
       FROM unnest($1::text[], $2::json[], $3::json[], $4::json[], $5::json[])
         AS redacted (id, input, result, input_preview, result_preview) WHERE run.id = redacted.id`,
      [
        runs.map(({ id }) => id),
        runs.map(({ input }) => JSON.stringify(input)),
        runs.map(({ result }) => result && JSON.stringify(result)),
        runs.map(({ input }) => JSON.stringify(previewOf(input))),
        runs.map(({ result }) => result && JSON.stringify(resultPreviewOf(result))),
      ],
    );
  }

  async replaceSteps(runId: string, steps: readonly Pick<StoredStep, 'seq' | 'step'>[]): Promise<void> {
    await this.db.query(
      `UPDATE run_step SET step = redacted.step FROM unnest($2::integer[], $3::json[]) AS redacted (seq, step)
       WHERE run_id = $1 AND run_step.seq = redacted.seq`,
      [runId, steps.map(({ seq }) => seq), steps.map(({ step }) => JSON.stringify(step))],
    );
  }

  private async ids(sql: string, parameters: unknown[]): Promise<string[]> {
    return (await this.db.query<{ id: string }>(sql, parameters)).map(({ id }) => id);
  }
}

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
