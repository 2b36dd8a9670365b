import { Inject, Injectable, Logger } from '@nestjs/common';
import { DomainError, isOutage } from '#rollcall/platform';
import {
  type Agent,
  type AgentEvent,
  type AgentResult,
  type CallContext,
  ProviderError,
  textPart,
} from '#rollcall/providers';
import { LedgerSpending } from '../../spending/ledger.spending.js';
import type { BudgetUsage } from '../../spending/spending.js';
import { ConversationHistory } from '../../conversations/conversation.history.js';
import { approvalHashOf } from '../../loop/approval.hash.js';
import { type RunJournal, RunJournals } from '../journal/run.journal.js';
import { reportsIn, sumOf } from '../journal/run.usage.js';
import { RunCrashedError } from '../run.errors.js';
import type { Run, RunTrace } from '../run.js';
import { endOf, failureOf, NEEDS_REVIEW, reviewOf, type RunEnd } from '../run.status.js';
import { decisionsOf, lastMessage, type RunStep } from '../run.step.js';
import type { WorkspaceKey } from '../../tools/workspace/workspaces.js';
import { tracedExecution } from '../../tracing/run.trace.js';
import { RUNS_OPTIONS, type RunsOptions } from '../runs.options.js';
import { RunStore } from '../store/run.store.js';
import { CallProgress, recordedCall } from './agent.call.js';
import { DelegatedRuns } from './delegated.runs.js';
import { type OpenAgent, RunAgents } from './run.agents.js';
import { RunClosedError, type RunScope } from './run.scope.js';
import { RunWorkspaces } from './run.workspaces.js';

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
    private readonly history: ConversationHistory,
    private readonly workspaces: RunWorkspaces,
    @Inject(RUNS_OPTIONS) private readonly options: Pick<RunsOptions, 'now' | 'maxCrashesInStep'>,
  ) {}

  /**
   * Executes a run until it ends, waits, or is closed for this replica. If the database fails, the run does not fail but is interrupted:
   * it later continues from its last step.
   */
  async execute(run: Run, scope: RunScope): Promise<ExecutionEnd> {
    const store = async (trace: RunTrace): Promise<void> => await this.store.setTrace(scope.fence, trace);
    try {
      return await tracedExecution(run, store, async () => await this.executeTraced(run, scope));
    } catch (error) {
      if (isInterruption(error, scope)) return 'interrupted';
      throw error;
    }
  }

  private async executeTraced(run: Run, scope: RunScope): Promise<ExecutionEnd> {
    const release = this.delegated.follow(scope, run.attempts > 1);
    const progress = new CallProgress();
    try {
      const journal = await this.journals.open(run, scope);
      try {
        return await this.executeRecorded(journal, progress);
      } finally {
        await journal.abandon();
      }
    } finally {
      release();
    }
  }

  private async executeRecorded(journal: RunJournal, progress: CallProgress): Promise<ExecutionEnd> {
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

  private async attempt(journal: RunJournal, progress: CallProgress): Promise<RunEnd> {
    const { run, steps } = journal;
    try {
      if (run.crashes >= MAX_CRASHES) throw new RunCrashedError(run.crashes);
      const decided = decidedEnd(run, steps);
      if (decided) {
        await journal.endReservations();
        return decided;
      }
      return endOf(await this.open(journal, progress), progress.pending);
    } catch (error) {
      if (isInterruption(error, journal.scope)) throw error;
      const { id: runId, agentId, attempts } = run;
      if (!(error instanceof ProviderError || error instanceof DomainError))
        this.log.error({ event: 'run.internal_error', runId, agentId, err: error });
      else if (error instanceof ProviderError && error.logDetail)
        this.log.warn({ event: 'run.provider_error', runId, agentId, code: error.code, detail: error.logDetail });
      if (attempts > 1) await journal.endReservations();
      return failureOf(error);
    }
  }

  private async open(journal: RunJournal, progress: CallProgress): Promise<AgentResult> {
    const { run } = journal;
    const opened = await this.agents.open(run);
    const { target } = opened;
    try {
      if (run.crashesInStep >= this.options.maxCrashesInStep && !worksElsewhere(target.agent)) {
        await journal.endReservations();
        return crashReviewOf(run, journal.steps, progress);
      }
      await this.recordRevision(journal, opened.revision);
      const workspace = target.agent.agentType === 'in-process' ? await this.workspaces.open(journal) : undefined;
      const options = { context: contextOf(run, workspace), signal: signalOf(opened, journal.scope) };
      const usage = usageBefore(run);
      const payment = { spending: this.spending };
      const { history } = this;
      const call = { target, options, journal, payment, history, now: this.options.now };
      return await resultOf(recordedCall(usage ? { ...call, usage } : call, progress));
    } finally {
      await target.close();
    }
  }

  /** The definition may have received a new revision between the creation of the run and its first execution. */
  private async recordRevision(journal: RunJournal, revision: number | null): Promise<void> {
    const { definition } = journal.run;
    if (!definition || revision === null || revision === definition.revision) return;
    await this.store.setRevision(journal.scope.fence, revision);
    journal.useRevision(definition, revision);
  }
}

function contextOf(run: Run, workspace: WorkspaceKey | undefined): CallContext {
  const { id: runId, namespace, agentId: agentName, createdBy: callerId, conversationId, deadline } = run;
  const shared = {
    ...(workspace && workspace.workspaceId !== runId && { workspaceId: workspace.workspaceId }),
    ...(conversationId !== runId && { conversationId }),
  };
  const place = { namespace, rootRunId: runId, ...shared, runId, callerId, agentName, ancestry: [], depth: 0 };
  return { ...place, deadline: deadline === null ? null : Date.parse(deadline) };
}

/** When the first execution of a run begins, its budget was just opened. Otherwise, the usage must be read. */
function usageBefore({ attempts, limit }: Run): BudgetUsage | undefined {
  return attempts === 1 ? { own: NOTHING, subtree: NOTHING, reserved: NOTHING, limit } : undefined;
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

/** Whether the agent runs in a process of its own, outside of the replica. Its work does not crash a replica, which only waits. */
function worksElsewhere({ agentType }: Agent): boolean {
  return agentType === 'remote' || agentType === 'api';
}

type CrashedRun = Pick<Run, 'id' | 'agentId' | 'crashesInStep'>;

/**
 * The end of an execution that is not attempted again without a decision, because replicas crashed in the same step. The decision is
 * about the call of the agent, as after an interrupted call of an external agent: its id is that of the run.
 */
function crashReviewOf(
  { id: callId, agentId: tool, crashesInStep }: CrashedRun,
  steps: readonly RunStep[],
  progress: CallProgress,
): AgentResult {
  const { parts: input } = lastMessage(steps);
  const inputHash = approvalHashOf({ input, turn: 0, asked: decisionsOf(callId, steps) });
  progress.pending = [{ callId, tool, input, inputHash, approve: 'operator' }];
  const detail = `${crashesInStep} replicas crashed or lost their lease in the same step of this run. Look for the cause in their logs, then approve or reject that the run continues from this step.`;
  return { outcome: 'stopped', reason: NEEDS_REVIEW, detail, parts: [], usage: progress.usage };
}

/**
 * How the decision about a crash ends the run; undefined if the run continues. Decisions about an interrupted call of an external agent
 * are applied by its call.
 */
function decidedEnd({ id }: CrashedRun, steps: readonly RunStep[]): RunEnd | undefined {
  const last = steps.at(-1);
  if (steps.some(({ type }) => type === 'agent-called')) return undefined;
  if (last?.type === 'approval-decided' && last.callId === id && !last.approved) {
    const detail = `An operator decided that the run does not continue. ${last.reason ?? ''}`.trim();
    return { state: 'stopped', waitingFor: null, result: { parts: [], reason: 'rejected', detail } };
  }
  if (last?.type === 'tool-finished' && last.callId === id)
    return { state: 'completed', waitingFor: null, result: { parts: [textPart(last.output)] } };
  return undefined;
}
