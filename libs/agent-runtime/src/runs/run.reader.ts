import { Injectable } from '@nestjs/common';
import { type Charged, RunCharges, withCharges } from './run.charges.js';
import { RunNotFoundError } from './run.errors.js';
import { RunChangesStore } from './run-changes.store.js';
import type {
  ChangedRun,
  ChangeFilter,
  ChangePosition,
  ListedRun,
  Run,
  RunExport,
  RunFilter,
  RunKey,
  RunTree,
} from './run.js';
import { isFinal } from './run.status.js';
import type { StoredStep } from './run.step.js';
import { type OpenRuns, RunStore } from './run.store.js';
import { RunWatches } from './run.watches.js';

const STEPS_PER_READ = 500;
const NOTHING = { tokens: 0, microUsd: 0 };

/** Reads runs. */
@Injectable()
export class RunReader {
  constructor(
    private readonly store: RunStore,
    private readonly watches: RunWatches,
    private readonly charges: RunCharges,
    private readonly changes: RunChangesStore,
  ) {}

  /** With `waitMs`, waits for at most this time until the run is finished, or waits for input or a decision. */
  async get(key: RunKey, waitMs = 0, signal?: AbortSignal): Promise<Run> {
    if (waitMs === 0) return await this.complete(await this.read(key));
    const until = performance.now() + waitMs;
    const watch = this.watches.open(key.id, 'states');
    try {
      for (;;) {
        const run = await this.read(key);
        const leftMs = until - performance.now();
        const isSettled = isFinal(run.state) || run.state === 'waiting';
        if (isSettled || leftMs <= 0 || signal?.aborted || this.watches.isStopping) return await this.complete(run);
        await watch.next(leftMs, signal);
      }
    } finally {
      watch.close();
    }
  }

  /** Newest first; `before` is the `seq` of the last run of the previous page. */
  async list(filter: RunFilter, limit: number, before?: number): Promise<ListedRun[]> {
    return await this.charges.complete(await this.store.page(filter, limit, before));
  }

  /** The run that changed last comes first; `before` is the position of the last run of the previous page. */
  async listByChange(filter: ChangeFilter, limit: number, before?: ChangePosition): Promise<ChangedRun[]> {
    return await this.changes.page(filter, limit, before);
  }

  /** Counts at most `limit` runs. */
  async countByChange(filter: ChangeFilter, limit: number): Promise<number> {
    return await this.changes.count(filter, limit);
  }

  /** The messages of the callers of these runs, in order. */
  async messages(runIds: readonly string[]): Promise<StoredStep[]> {
    return await this.store.messages(runIds);
  }

  /** Returns the steps in order; `after` is the last step of the previous page. */
  async steps(key: RunKey, after: number, limit: number): Promise<StoredStep[]> {
    await this.read(key);
    return await this.store.steps(key.id, after, limit);
  }

  /** The run and its descendants, each with the usage of its subtree. */
  async tree(key: RunKey): Promise<RunTree> {
    const run = await this.read(key);
    const all = await this.store.tree(run.rootId);
    const charged = await this.charges.of(all);
    const complete = withCharges(all, charged);
    return treeOf(same(run, complete), complete, charged);
  }

  /** The unfinished runs of all namespaces. */
  async open(): Promise<OpenRuns> {
    return await this.store.countOpen();
  }

  /** Everything that is stored about the run and its descendants. */
  async export(key: RunKey): Promise<RunExport> {
    const run = await this.read(key);
    const all = await this.charges.complete(await this.store.tree(run.rootId));
    return await this.exportOf(same(run, all), all);
  }

  private async read(key: RunKey): Promise<Run> {
    const run = await this.store.find(key);
    if (!run) throw new RunNotFoundError(key.id);
    return run;
  }

  private async complete(run: Run): Promise<Run> {
    const [complete = run] = await this.charges.complete([run]);
    return complete;
  }

  private async exportOf(run: Run, all: readonly Run[]): Promise<RunExport> {
    const children: RunExport[] = [];
    for (const child of childrenOf(run, all)) children.push(await this.exportOf(child, all));
    return { run, steps: await this.allSteps(run.id), children };
  }

  private async allSteps(runId: string): Promise<StoredStep[]> {
    const all: StoredStep[] = [];
    for (;;) {
      const page = await this.store.steps(runId, all.length, STEPS_PER_READ);
      all.push(...page);
      if (page.length < STEPS_PER_READ) return all;
    }
  }
}

function childrenOf({ id }: Run, all: readonly Run[]): Run[] {
  return all.filter(({ parentId }) => parentId === id);
}

function treeOf(run: Run, all: readonly Run[], charged: ReadonlyMap<string, Charged>): RunTree {
  const children = childrenOf(run, all).map((child) => treeOf(child, all, charged));
  return { run, subtree: charged.get(run.id)?.subtree ?? NOTHING, children };
}

/** The same run, as it is in a later reading of its tree. */
function same(run: Run, all: readonly Run[]): Run {
  return all.find(({ id }) => id === run.id) ?? run;
}
