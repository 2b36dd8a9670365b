import { Injectable } from '@nestjs/common';
import { Database, DatabaseBusyError, DatabaseUnavailableError, GroupCommit, StopsIn } from '#rollcall/platform';
import { RunEvents } from './run.events.js';
import { type EndedRun, RunLogStore } from './run-log.store.js';
import type { Run } from './run.js';
import { currentResult } from './run.row.js';
import { RunClosedError, type RunFence } from './run.scope.js';
import { isFinal } from './run.status.js';
import { type NewRun, RunStore } from './run.store.js';
import { chargedUsage } from './run.usage.js';
import type { LogEntry } from './run-log.entry.js';

/** `fenced`: the lease of the tree is lost, and nothing was written. */
export type LogResult = 'stored' | 'fenced' | { readonly error: unknown };

const MAX_BATCH = 256;

/**
 * Writes the steps and the ends of all runs of this replica. Writes of concurrent runs are committed together: while one batch
 * commits, the next collects. Every write checks the lease of its tree.
 */
@Injectable()
export class RunLog {
  private readonly steps: GroupCommit<LogEntry, LogResult>;
  /** An end needs a transaction of several statements, so it must not delay the steps of other runs. */
  private readonly ends: GroupCommit<LogEntry, LogResult>;

  constructor(
    private readonly db: Database,
    private readonly store: RunLogStore,
    private readonly events: RunEvents,
    private readonly runs: RunStore,
  ) {
    this.steps = this.group('run-steps', async (batch) => await this.store.append(batch));
    this.ends = this.group('run-ends', async (batch) => await this.commitEnds(batch));
  }

  async write(entry: LogEntry): Promise<LogResult> {
    return await (entry.end ? this.ends : this.steps).run(entry);
  }

  /** Adds a delegated run. Returns undefined if it already exists. Rejects with `RunClosedError` if the lease of its root is lost. */
  async begin(draft: NewRun, fence: RunFence): Promise<Run | undefined> {
    return await this.db.transaction(async () => {
      if (!(await this.store.lock([fence])).has(fence.token)) throw new RunClosedError();
      const run = await this.runs.insert(draft);
      if (run) await this.events.started([run]);
      return run;
    });
  }

  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all([this.steps.idle(), this.ends.idle()]);
  }

  /** `commit` returns the valid tokens. */
  private group(
    name: string,
    commit: (batch: readonly LogEntry[]) => Promise<Set<string>>,
  ): GroupCommit<LogEntry, LogResult> {
    return new GroupCommit<LogEntry, LogResult>(this.db, {
      name,
      maxBatch: MAX_BATCH,
      commit: async (batch) => {
        const held = await commit(batch);
        return batch.map(({ fence }) => (held.has(fence.token) ? 'stored' : 'fenced'));
      },
      failure: (error) => ({ error }),
      keyOf: ({ run }) => run.id,
      failsAll: isOutage,
      mayBeOneItem: (error) => !isOutage(error),
    });
  }

  /** The end of a run and its event are committed in one transaction. */
  private async commitEnds(batch: readonly LogEntry[]): Promise<Set<string>> {
    return await this.db.transaction(async () => {
      const held = await this.store.lock(batch.map(({ fence }) => fence));
      const ended = await this.store.end(batch.filter(({ fence }) => held.has(fence.token)));
      const entryOf = new Map(batch.map((entry) => [entry.run.id, entry]));
      await this.events.ended(
        ended.flatMap((run) => {
          const { run: executed, end } = (run.isLeftOver ? undefined : entryOf.get(run.id)) ?? {};
          return executed && end ? [{ run, end, known: endedRun(executed, end, run) }] : [];
        }),
      );
      await this.events.leftOver(ended.filter(({ isLeftOver }) => isLeftOver));
      return held;
    });
  }
}

/** The run as a read returns it after its end. */
function endedRun(run: Run, { state, waitingFor, result, usage }: NonNullable<LogEntry['end']>, ended: EndedRun): Run {
  const { definition, stateAt, startedAt, finishedAt, charged } = ended;
  const shown = { result: currentResult(state, result), usage: isFinal(state) ? chargedUsage(usage, charged) : usage };
  return { ...run, definition, state, stateAt, waitingFor, ...shown, startedAt, finishedAt };
}

export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof DatabaseBusyError;
}
