import { Injectable } from '@nestjs/common';
import { RunNotFoundError } from '../run.errors.js';
import type {
  ChangedRun,
  ChangeFilter,
  ChangePosition,
  ListedRun,
  Run,
  RunExport,
  RunFacts,
  RunFilter,
  RunKey,
  RunSummary,
  RunTree,
  VisibleRuns,
} from '../run.js';
import { isFinalOrWaiting } from '../run.status.js';
import type { StoredStep } from '../run.step.js';
import { RunChangesStore } from '../store/run-changes.store.js';
import { type OpenRuns, type RunCounts, type RunMessages, RunStore, type TreeRun } from '../store/run.store.js';
import { RunWatches } from './run.watches.js';

const STEPS_PER_READ = 500;

interface WaitOptions<Known = Run> {
  /** The maximum time; `Infinity` is allowed. */
  readonly waitMs: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** What the caller knows because it has just started or continued the run. It is not read again. */
  readonly known?: Known;
}

/** Reads runs. */
@Injectable()
export class RunReader {
  constructor(
    private readonly store: RunStore,
    private readonly watches: RunWatches,
    private readonly changes: RunChangesStore,
  ) {}

  /** Counts the visible open runs, and those that finished in the last `finishedMs`. */
  async count(visible: VisibleRuns, finishedMs: number): Promise<RunCounts> {
    return await this.store.count(visible, finishedMs);
  }

  /** Rejects with RUN_NOT_FOUND. */
  async get(key: RunKey): Promise<Run> {
    const run = await this.store.find(key);
    if (!run) throw new RunNotFoundError(key.id);
    return run;
  }

  /** Returns the run when it is finished or waits for its caller, or when the time is over. Rejects with RUN_NOT_FOUND. */
  async wait(key: RunKey, { known, ...options }: WaitOptions): Promise<Run> {
    const read = async (): Promise<{ run: Run }> => ({ run: await this.get(key) });
    return (await this.waitFor(key, { ...options, ...(known && { known: { run: known } }) }, read)).run;
  }

  /** Like `wait`, with the messages of the callers. It also returns a run that waits for an authorization. */
  async waitWithMessages(key: RunKey, options: WaitOptions<RunMessages>): Promise<RunMessages> {
    const isEnough = ({ waitingFor }: Run): boolean => waitingFor === 'authorization';
    return await this.waitFor(key, { ...options, isEnough }, async () => await this.withMessages(key));
  }

  /** Rejects with RUN_NOT_FOUND. */
  async withMessages(key: RunKey): Promise<RunMessages> {
    const reading = await this.store.withMessages(key);
    if (!reading) throw new RunNotFoundError(key.id);
    return reading;
  }

  /**
   * The watch is opened before the first read, so that no end is missed between the two. If the run ends on this replica, the end is
   * not read from the database.
   */
  private async waitFor<Reading extends { readonly run: Run }>(
    { id }: RunKey,
    { waitMs, signal, known, isEnough }: WaitOptions<Reading> & { isEnough?: (run: Run) => boolean },
    read: () => Promise<Reading>,
  ): Promise<Reading> {
    const until = performance.now() + waitMs;
    const watch = this.watches.open(id, 'ends');
    try {
      let reading = known && !this.watches.mayHaveEnded(id) ? known : await read();
      for (;;) {
        const leftMs = until - performance.now();
        if (
          isFinalOrWaiting(reading.run.state) ||
          isEnough?.(reading.run) ||
          leftMs <= 0 ||
          signal?.aborted ||
          this.watches.isStopping
        )
          return reading;
        await watch.next(leftMs, signal);
        if (signal?.aborted) return reading;
        const run = watch.takeEnded();
        reading = run ? { ...reading, run } : await read();
      }
    } finally {
      watch.close();
    }
  }

  /** Newest first; `before` is the `seq` of the last run of the previous page. */
  async list(filter: RunFilter, limit: number, before?: number): Promise<ListedRun[]> {
    return await this.store.page(filter, limit, before);
  }

  /** The run that changed last comes first; `before` is the position of the last run of the previous page. */
  async listByChange(filter: ChangeFilter, limit: number, before?: ChangePosition): Promise<ChangedRun[]> {
    return await this.changes.page(filter, limit, before);
  }

  /** Counts at most `limit` runs. */
  async countByChange(filter: ChangeFilter, limit: number): Promise<number> {
    return await this.changes.count(filter, limit);
  }

  /** The first message of each of these runs, without the parts of a large one. */
  async openingMessages(runIds: readonly string[]): Promise<StoredStep[]> {
    return await this.store.openingMessages(runIds);
  }

  /** The messages of the callers of these runs, in order. */
  async messages(runIds: readonly string[]): Promise<StoredStep[]> {
    return await this.store.messages(runIds);
  }

  /** Returns the steps in order; `after` is the last step of the previous page. There are fewer than `limit` if they are large. */
  async steps(key: RunKey, after: number, limit: number): Promise<StoredStep[]> {
    if (!(await this.store.exists(key))) throw new RunNotFoundError(key.id);
    return await this.store.pageOfSteps(key.id, after, limit);
  }

  /** The ids of those of these runs that the caller sees. */
  async visibleAmong(visible: VisibleRuns, ids: readonly string[]): Promise<Set<string>> {
    return await this.store.visibleAmong(visible, ids);
  }

  /** Those of the runs that are finished. */
  async finishedAmong(ids: readonly string[]): Promise<Set<string>> {
    return await this.store.finishedAmong(ids);
  }

  /** The run and its descendants, each with the usage of its subtree. */
  async tree(key: RunKey): Promise<RunTree> {
    const { rootId } = await this.get(key);
    const all = await this.store.treeSummaries(rootId);
    return treeOf(oneOf(all, key.id), all);
  }

  /** The unfinished runs of all namespaces. */
  async open(): Promise<OpenRuns> {
    return await this.store.countOpen();
  }

  /** Everything that is stored about the run and its descendants. Rejects with RUN_NOT_FOUND. */
  async export(key: RunKey): Promise<RunExport> {
    const run = await this.get(key);
    return this.exportOf(run, await this.store.treeSummaries(run.rootId));
  }

  private exportOf(run: Run, all: readonly TreeRun<RunSummary>[]): RunExport {
    return { run, steps: () => this.pagesOfSteps(run.id), children: () => this.exportsOfChildren(run, all) };
  }

  private async *exportsOfChildren(
    parent: Run,
    all: readonly TreeRun<RunSummary>[],
  ): AsyncGenerator<RunExport, void, void> {
    for (const { run } of childrenOf(parent, all))
      yield this.exportOf(await this.get({ namespace: parent.namespace, id: run.id }), all);
  }

  private async *pagesOfSteps(runId: string): AsyncGenerator<StoredStep[], void, void> {
    let page = await this.store.pageOfSteps(runId, 0, STEPS_PER_READ);
    for (let last = page.at(-1); last; last = page.at(-1)) {
      yield page;
      page = await this.store.pageOfSteps(runId, last.seq, STEPS_PER_READ);
    }
  }
}

function childrenOf(parent: RunFacts, all: readonly TreeRun<RunSummary>[]): TreeRun<RunSummary>[] {
  return all.filter(({ run }) => run.parentId === parent.id);
}

function treeOf({ run, subtree }: TreeRun<RunSummary>, all: readonly TreeRun<RunSummary>[]): RunTree {
  return { run, subtree, children: childrenOf(run, all).map((child) => treeOf(child, all)) };
}

/** Rejects with RUN_NOT_FOUND if the tree was deleted meanwhile. */
function oneOf(all: readonly TreeRun<RunSummary>[], id: string): TreeRun<RunSummary> {
  const found = all.find(({ run }) => run.id === id);
  if (!found) throw new RunNotFoundError(id);
  return found;
}
