import { Injectable } from '@nestjs/common';
import { Database, GroupCommit, isOutage, qualifiedId, StopsIn } from '#rollcall/platform';
import { BudgetLedger, type LedgerOutcome, type LedgerSession, repeatIfTaken } from '#rollcall/registry';
import { RunClosedError, type RunFence } from '../execution/run.scope.js';
import type { Run } from '../run.js';
import { isFinal } from '../run.status.js';
import { type LockedRoots, type NumberedStep, RunCommitStore, type RunWrite } from '../store/run-commit.store.js';
import { currentResult } from '../store/run.row.js';
import { type NewRun, RunStore } from '../store/run.store.js';
import { callBudgetOf } from '../../calls/paid.call.js';
import type { NewTask } from '../../tasks/task.js';
import { TaskCalls } from '../../tasks/task.calls.js';
import { RunEvents } from './run.events.js';
import { chargedUsage } from './run.usage.js';

/** `fenced`: the lease of the tree is lost, and nothing was written. */
export type RunWritten =
  | { readonly state: 'stored'; readonly outcomes: readonly LedgerOutcome[] }
  | { readonly state: 'fenced' }
  | { readonly state: 'failed'; readonly error: unknown };

const MAX_BATCH = 256;
const FENCED: RunWritten = { state: 'fenced' };
const STORED: RunWritten = { state: 'stored', outcomes: [] };

/**
 * Writes what the runs of this replica do. Writes of concurrent runs commit together: while one batch commits, the next collects. Every
 * write checks the lease of its tree.
 */
@Injectable()
export class RunCommits {
  /** Only steps: one statement. */
  private readonly steps: GroupCommit<RunWrite, RunWritten>;
  /** Everything else: one round trip locks, and one writes and commits. */
  private readonly writes: GroupCommit<RunWrite, RunWritten>;

  constructor(
    private readonly db: Database,
    private readonly store: RunCommitStore,
    private readonly events: RunEvents,
    private readonly runs: RunStore,
    private readonly ledger: BudgetLedger,
    private readonly tasks: TaskCalls,
  ) {
    this.steps = this.group('run-steps', async (batch) => await this.appendAll(batch));
    this.writes = this.group('run-writes', async (batch) => await this.commitAll(batch));
  }

  async write(write: RunWrite): Promise<RunWritten> {
    const hasOnlySteps = write.ops.length === 0 && !write.end && !write.begins && !write.waits;
    return await (hasOnlySteps ? this.steps : this.writes).run(write);
  }

  /** Adds a delegated run. Returns undefined if it already exists. Rejects with `RunClosedError` if the lease of its root is lost. */
  async begin(draft: NewRun, fence: RunFence): Promise<Run | undefined> {
    return await this.db.transaction(async () => {
      if (!(await this.store.lock([fence], [])).tokens.has(fence.token)) throw new RunClosedError();
      const run = await this.runs.insert(draft);
      if (run) await this.events.started([run]);
      return run;
    });
  }

  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all([this.steps.idle(), this.writes.idle()]);
  }

  private group(
    name: string,
    commit: (batch: readonly RunWrite[]) => Promise<RunWritten[]>,
  ): GroupCommit<RunWrite, RunWritten> {
    return new GroupCommit<RunWrite, RunWritten>(this.db, {
      name,
      maxBatch: MAX_BATCH,
      commit,
      failure: (error) => ({ state: 'failed', error }),
      keyOf: ({ run }) => run.id,
      failsAll: isOutage,
      mayBeOneItem: (error) => !isOutage(error),
    });
  }

  private async appendAll(batch: readonly RunWrite[]): Promise<RunWritten[]> {
    const tokens = await this.store.append(batch);
    return batch.map(({ fence }) => (tokens.has(fence.token) ? STORED : FENCED));
  }

  private async commitAll(batch: readonly RunWrite[]): Promise<RunWritten[]> {
    const ops = batch.flatMap((write) => write.ops);
    return await repeatIfTaken(
      async (looksUp) =>
        await this.db.transaction(async () => {
          const session = ops.length > 0 ? this.ledger.session(ops, looksUp) : undefined;
          const ending = batch.flatMap(({ run, end }) => (end ? [run.id] : []));
          const fences = batch.map(({ fence }) => fence);
          // one round trip: the statements are pipelined
          const [roots] = await Promise.all([this.store.lock(fences, ending), session?.lock()]);
          const decided = batch.map((write) => decide(write, roots, session));
          await session?.write('with-commit');
          this.store.insertSteps(decided.flatMap(stepsOf), roots.now);
          this.store.waitWithCommit(decided.flatMap(waitOf));
          this.tasks.offerWithCommit(decided.flatMap(tasksOf));
          await this.endRuns(decided, roots);
          return decided.map(({ written }) => written);
        }),
    );
  }

  private async endRuns(decided: readonly Decided[], { running, now }: LockedRoots): Promise<void> {
    const ends = decided.flatMap(({ write: { run, end }, written }) =>
      end && written.state === 'stored' && running.has(run.id) ? [{ run, end, outcomes: written.outcomes }] : [],
    );
    if (ends.length === 0) return;
    const at = now.toISOString();
    const ended = ends.map(({ run, end, outcomes }) => ({
      run: { ...run, state: end.state, finishedAt: end.state === 'waiting' ? null : at },
      end,
      known: endedRun({ ...run, stateAt: at }, end, outcomes),
    }));
    await this.events.ended(ended);
    this.tasks.closeWithCommit(ends.flatMap(({ run, end }) => (end.hasTask ? [run.id] : [])));
    const mayLeaveOver = ends.some(({ run, end }) => run.parentId === null && end.mayHaveDelegated);
    if (!mayLeaveOver) return this.store.endWithCommit(ends, now);
    const leftOver = await this.store.end(ends, now);
    await this.tasks.cancel(leftOver.map(({ id }) => id));
    await this.events.leftOver(leftOver);
  }
}

interface Decided {
  readonly write: RunWrite;
  readonly written: RunWritten;
}

function decide(write: RunWrite, { tokens }: LockedRoots, session: LedgerSession | undefined): Decided {
  if (!tokens.has(write.fence.token)) return { write, written: FENCED };
  return { write, written: session ? { state: 'stored', outcomes: session.apply(write.ops) } : STORED };
}

function stepsOf({ write: { run, steps, begins }, written }: Decided): (NumberedStep & { readonly runId: string })[] {
  if (written.state !== 'stored') return [];
  const isRejected = written.outcomes.some(({ ok }) => !ok);
  const all = begins && !isRejected ? [...steps, begins] : steps;
  return all.map(({ seq, step }) => ({ runId: run.id, seq, step }));
}

function waitOf({ write: { run, waits }, written }: Decided): (NonNullable<RunWrite['waits']> & { runId: string })[] {
  return waits && written.state === 'stored' ? [{ runId: run.id, ...waits }] : [];
}

/** The task of a call, with the budget that is reserved for the call. */
function tasksOf({ write: { task }, written }: Decided): NewTask[] {
  if (!task || written.state !== 'stored' || written.outcomes.some(({ ok }) => !ok)) return [];
  const held = written.outcomes.findLast((outcome) => outcome.ok && outcome.reservation !== undefined);
  const budget = held?.ok && held.reservation ? callBudgetOf(held.reservation.held) : undefined;
  return [{ ...task, content: { ...task.content, ...(budget && { budget }) } }];
}

/** The run as a read returns it after this end; undefined if it is not known what its budget was charged. */
function endedRun(run: Run, end: NonNullable<RunWrite['end']>, outcomes: readonly LedgerOutcome[]): Run | undefined {
  const { state, waitingFor, result: whole, usage } = end;
  const result = currentResult(state, whole);
  if (!isFinal(state)) return { ...run, state, waitingFor, result, usage };
  const subject = qualifiedId(run.namespace, run.id);
  const budgets = outcomes.flatMap((outcome) => (outcome.ok ? (outcome.runs ?? []) : []));
  const charged = budgets.findLast((budget) => budget.subject === subject)?.own;
  return charged && { ...run, state, waitingFor, result, usage: chargedUsage(usage, charged), finishedAt: run.stateAt };
}
