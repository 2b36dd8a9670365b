import { Injectable } from '@nestjs/common';
import { BudgetsService } from '#rollcall/registry';
import { qualifiedId } from '#rollcall/platform';
import { RunNotFoundError } from './run.errors.js';
import type { ListedRun, Run, RunExport, RunFilter, RunKey, RunTree } from './run.js';
import { isFinal } from './run.status.js';
import type { StoredStep } from './run.step.js';
import { type OpenRuns, RunStore } from './run.store.js';
import { RunWatches } from './run.watches.js';

const POLL_MS = 1_000;
const STEPS_PER_READ = 500;
const NOTHING = { tokens: 0, microUsd: 0 };

/** Reads runs. */
@Injectable()
export class RunReader {
  constructor(
    private readonly store: RunStore,
    private readonly watches: RunWatches,
    private readonly budgets: BudgetsService,
  ) {}

  /** With `waitMs`, waits until the run is finished or waits for somebody, at most for this time. */
  async get(key: RunKey, waitMs = 0, signal?: AbortSignal): Promise<Run> {
    if (waitMs === 0) return await this.read(key);
    const until = performance.now() + waitMs;
    const watch = this.watches.open(key.id);
    try {
      for (;;) {
        const run = await this.read(key);
        const leftMs = until - performance.now();
        const isSettled = isFinal(run.state) || run.state === 'waiting';
        if (isSettled || leftMs <= 0 || signal?.aborted || this.watches.isStopping) return run;
        while (!(await watch.next(Math.min(leftMs, POLL_MS), signal))) watch.take();
      }
    } finally {
      watch.close();
    }
  }

  /** Newest first; `before` is the `seq` of the last run of the previous page. */
  async list(filter: RunFilter, limit: number, before?: number): Promise<ListedRun[]> {
    return await this.store.page(filter, limit, before);
  }

  /** In order; `after` is the last step of the previous page. */
  async steps(key: RunKey, after: number, limit: number): Promise<StoredStep[]> {
    await this.read(key);
    return await this.store.steps(key.id, after, limit);
  }

  /** The run and its descendants, each with the usage of its subtree. */
  async tree(key: RunKey): Promise<RunTree> {
    const run = await this.read(key);
    return await this.treeOf(run, await this.store.tree(run.rootId));
  }

  /** The unfinished runs of all namespaces. */
  async open(): Promise<OpenRuns> {
    return await this.store.countOpen();
  }

  /** Everything that is stored about the run and its descendants. */
  async export(key: RunKey): Promise<RunExport> {
    const run = await this.read(key);
    return await this.exportOf(run, await this.store.tree(run.rootId));
  }

  private async read(key: RunKey): Promise<Run> {
    const run = await this.store.find(key);
    if (!run) throw new RunNotFoundError(key.id);
    return run;
  }

  private async treeOf(run: Run, all: readonly Run[]): Promise<RunTree> {
    const [reading] = await this.budgets.of('run', qualifiedId(run.namespace, run.id));
    const children: RunTree[] = [];
    for (const child of childrenOf(run, all)) children.push(await this.treeOf(child, all));
    return { run, subtree: reading ? { ...reading.budget.used } : NOTHING, children };
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
