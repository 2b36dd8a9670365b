import { Inject, Injectable, Logger } from '@nestjs/common';
import { DomainError, isOutage } from '#rollcall/platform';
import { type AgentEvent, type AgentResult, type CallContext, ProviderError } from '#rollcall/providers';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { RunUsage } from '../spending/spending.js';
import { DelegatedRuns } from './delegated.runs.js';
import { Progress, recordedCall } from './recorded.call.js';
import { type OpenAgent, RunAgents } from './run.agents.js';
import type { Run } from './run.js';
import { type RunJournal, RunJournals } from './run.journal.js';
import { RunCrashedError } from './run.errors.js';
import { RunClosedError, type RunScope } from './run.scope.js';
import { endOf, failureOf, reviewOf, type RunEnd } from './run.status.js';
import { crashReviewOf, decidedEnd } from './crash.review.js';
import { reportsIn, sumOf } from './run.usage.js';
import { RunStore } from './run.store.js';
import { RUNS_OPTIONS, type RunsOptions } from './runs.options.js';

/** `interrupted`: the run is not finished, and a replica must continue it. */
export type ExecutionEnd = 'ended' | 'interrupted';

/** The errors of an agent that is shut down together with its replica. */
const STOPPING: ReadonlySet<unknown> = new Set(['AGENT_CLOSED', 'AGENTS_STOPPING', 'CALL_ABORTED']);
/** Without this limit, a run that crashes its replica would crash all replicas, one after the other. */
const MAX_CRASHES = 10;
const NOTHING = { tokens: 0, microUsd: 0 };

/** Executes claimed runs. */
@Injectable()
export class RunExecution {
  private readonly log = new Logger('runs');

  constructor(
    private readonly agents: RunAgents,
    private readonly journals: RunJournals,
    private readonly store: RunStore,
    private readonly spending: LedgerSpending,
    private readonly delegated: DelegatedRuns,
    @Inject(RUNS_OPTIONS) private readonly options: Pick<RunsOptions, 'now' | 'maxCrashesInStep'>,
  ) {}

  /**
   * Executes a run until it ends, waits, or is closed for this replica. If the database fails, the run does not fail but is interrupted:
   * it later continues from its last step.
   */
  async execute(run: Run, scope: RunScope): Promise<ExecutionEnd> {
    const release = this.delegated.follow(scope, run.attempts > 1);
    const progress = new Progress();
    try {
      const journal = await this.journals.open(run, scope);
      try {
        return await this.executeRecorded(journal, progress);
      } finally {
        await journal.abandon();
      }
    } catch (error) {
      if (isInterruption(error, scope)) return 'interrupted';
      throw error;
    } finally {
      release();
    }
  }

  private async executeRecorded(journal: RunJournal, progress: Progress): Promise<ExecutionEnd> {
    const { scope, steps } = journal;
    progress.usage = sumOf(reportsIn(steps));
    const end = await this.attempt(journal, progress).catch(async (error: unknown) => {
      const isWaiting =
        scope.reviews.length > 0 && (await journal.finishClosed(reviewOf(scope.reviews), progress.usage));
      if (!isWaiting) throw error;
    });
    if (!end) return 'ended';
    await scope.delegatedEnded();
    await journal.finish(end, progress.usage).catch(async (error: unknown) => {
      if (isInterruption(error, scope)) throw error;
      await journal.finish(failureOf(error), progress.usage); // without the steps that could not be stored
    });
    return 'ended';
  }

  private async attempt(journal: RunJournal, progress: Progress): Promise<RunEnd> {
    const { run, steps } = journal;
    const { crashes, crashesInStep } = run;
    try {
      if (crashes >= MAX_CRASHES) throw new RunCrashedError(crashes);
      const isCrashLoop = crashesInStep >= this.options.maxCrashesInStep;
      const known = isCrashLoop ? crashReviewOf(run, steps) : decidedEnd(run, steps);
      if (known) {
        await journal.endReservations();
        return known;
      }
      return endOf(await this.open(journal, progress), progress.pending);
    } catch (error) {
      if (isInterruption(error, journal.scope)) throw error;
      const { id: runId, agentId, attempts } = run;
      if (!(error instanceof ProviderError || error instanceof DomainError))
        this.log.error({ event: 'run.internal_error', runId, agentId, err: error });
      if (attempts > 1) await journal.endReservations();
      return failureOf(error);
    }
  }

  private async open(journal: RunJournal, progress: Progress): Promise<AgentResult> {
    const { run } = journal;
    const opened = await this.agents.open(run);
    const { target, isIdempotent } = opened;
    try {
      await this.recordRevision(run, opened.revision, journal.scope);
      const options = { context: contextOf(run), signal: signalOf(opened, journal.scope) };
      const usage = usageBefore(run);
      const payment = { spending: this.spending };
      const call = { target, options, journal, isIdempotent, payment, now: this.options.now };
      return await resultOf(recordedCall(usage ? { ...call, usage } : call, progress));
    } finally {
      await target.close();
    }
  }

  /** The definition may have received a new revision between the creation of the run and its first execution. */
  private async recordRevision({ definition }: Run, revision: number | null, { fence }: RunScope): Promise<void> {
    if (definition && revision !== null && revision !== definition.revision)
      await this.store.setRevision(fence, revision);
  }
}

function contextOf({ id: runId, namespace, agentId: agentName, createdBy: callerId, deadline }: Run): CallContext {
  const place = { namespace, rootRunId: runId, runId, callerId, agentName, ancestry: [], depth: 0 };
  return { ...place, deadline: deadline === null ? null : Date.parse(deadline) };
}

/** When the first execution of a run begins, its budget was just opened. Otherwise, the usage must be read. */
function usageBefore({ attempts, limit }: Run): RunUsage | undefined {
  return attempts === 1 ? { own: NOTHING, subtree: NOTHING, held: NOTHING, limit } : undefined;
}

function signalOf({ signal }: OpenAgent, scope: RunScope): AbortSignal {
  return signal ? AbortSignal.any([scope.signal, signal]) : scope.signal;
}

async function resultOf(events: AsyncIterable<AgentEvent>): Promise<AgentResult> {
  for await (const event of events) if (event.type === 'finished') return event.result;
  throw new ProviderError('AGENT_CRASHED', 'The agent ended without a result.');
}

/** Whether the run was interrupted and must continue later, instead of failing. */
function isInterruption(error: unknown, scope: RunScope): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  if (error instanceof RunClosedError || scope.isClosed || isOutage(error)) return true;
  return scope.isDraining && STOPPING.has(code);
}
