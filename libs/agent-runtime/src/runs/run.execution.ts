import { Inject, Injectable, Logger } from '@nestjs/common';
import { DomainError } from '#rollcall/platform';
import { type AgentEvent, type AgentResult, type CallContext, ProviderError } from '#rollcall/providers';
import { paidAgent } from '../delegation/paid.agent.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { RunUsage } from '../spending/spending.js';
import { DelegatedRuns } from './delegated.runs.js';
import { Progress } from './recorded.call.js';
import { type OpenAgent, RunAgents } from './run.agents.js';
import type { Run } from './run.js';
import type { RunJournal } from './run.journal.js';
import { RunCrashedError } from './run.errors.js';
import { isOutage } from './run.log.js';
import { type RecordedRun, RunRecords } from './run.records.js';
import { RunClosedError, type RunScope } from './run.scope.js';
import { endOf, failureOf, reviewOf, type RunEnd } from './run.status.js';
import { crashReviewOf, decidedEnd } from './crash.review.js';
import { reportsIn, sumOf } from './run.usage.js';
import { RUNS_OPTIONS, type RunsOptions } from './runs.options.js';
import { timedCall } from './timed.call.js';

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
    private readonly records: RunRecords,
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
      const recorded = { run, steps: await this.records.stepsOf(run) };
      progress.usage = sumOf(reportsIn(recorded.steps));
      const journal = this.records.journal(recorded, scope);
      const end = await this.attempt(recorded, journal, progress).catch(async (error: unknown) => {
        const isWaiting =
          scope.reviews.length > 0 && (await journal.endClosed(reviewOf(scope.reviews), progress.usage));
        if (!isWaiting) throw error;
      });
      if (!end) return 'ended';
      await scope.delegatedEnded();
      await journal.end(end, progress.usage);
      return 'ended';
    } catch (error) {
      if (isInterruption(error, scope)) return 'interrupted';
      throw error;
    } finally {
      release();
    }
  }

  private async attempt(recorded: RecordedRun, journal: RunJournal, progress: Progress): Promise<RunEnd> {
    const { crashes, crashesInStep } = recorded.run;
    try {
      if (crashes >= MAX_CRASHES) throw new RunCrashedError(crashes);
      const isCrashLoop = crashesInStep >= this.options.maxCrashesInStep;
      const known = isCrashLoop
        ? crashReviewOf(recorded.run, recorded.steps)
        : decidedEnd(recorded.run, recorded.steps);
      if (known) {
        await journal.endHolds(recorded.steps);
        return known;
      }
      return endOf(await this.open(recorded, journal, progress), progress.pending);
    } catch (error) {
      if (isInterruption(error, journal.scope)) throw error;
      const { id: runId, agentId, attempts } = recorded.run;
      if (!(error instanceof ProviderError || error instanceof DomainError))
        this.log.error({ event: 'run.internal_error', runId, agentId, err: error });
      if (attempts > 1) await journal.endHolds(recorded.steps);
      return failureOf(error);
    }
  }

  private async open({ run, steps }: RecordedRun, journal: RunJournal, progress: Progress): Promise<AgentResult> {
    const context = contextOf(run);
    const opened = await this.agents.open(run);
    const { target, isIdempotent } = opened;
    const signal = signalOf(opened, journal.scope);
    const agent = paidAgent(target, { spending: this.spending, isOpen: true });
    try {
      await this.records.recordRevision(run, opened.revision, journal.scope);
      const given = { context, signal };
      const usage = usageBefore(run);
      const call = {
        agent,
        steps,
        options: given,
        journal,
        isIdempotent,
        now: this.options.now,
        ...(usage && { usage }),
      };
      return await resultOf(timedCall(call, progress));
    } finally {
      await target.close();
    }
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
