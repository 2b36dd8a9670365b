import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, DomainError, GroupCommit, isOutage, type Statement, StopsIn } from '#rollcall/platform';
import type { ContentPart } from '#rollcall/providers';
import { Workspaces } from '../tools/workspace/workspaces.js';
import { traceOfStart } from '../tracing/run.trace.js';
import { toUserMessage } from '../agents/agent.mapper.js';
import type { ConversationKey } from '../conversations/conversation.js';
import { ConversationStore } from '../conversations/conversation.store.js';
import { ConversationTurns } from '../conversations/conversation.turns.js';
import { TaskCalls } from '../tasks/task.calls.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import { lowerLimit, NO_LIMIT } from '../spending/spending.js';
import { RunWorkers, type StartSlot } from './execution/run.workers.js';
import { RunEvents } from './journal/run.events.js';
import { RunSettlement } from './journal/run.settlement.js';
import { type DecidedStep, isRepeated, stepOf } from './run.decision.js';
import {
  RunDelegatedError,
  RunFinishedError,
  RunForeignError,
  RunNotFinishedError,
  RunNotFoundError,
  RunNotWaitingError,
  RunRedactedError,
} from './run.errors.js';
import type { Run, RunActor, RunDecision, RunFacts, RunKey, StartRun } from './run.js';
import { isFinal } from './run.status.js';
import { RunAdmission } from './start/run.admission.js';
import { type ChosenAgent, RunTargets } from './start/run.targets.js';
import { currentResult } from './store/run.row.js';
import { type NewRun, RunStore } from './store/run.store.js';

/** Decides the next step of a run. Returns undefined if the run does not change. */
type Decide = (run: Run) => DecidedStep | Promise<DecidedStep | undefined>;

/** A run that can be stored: its request is valid, and its agent is chosen. */
interface PreparedRun {
  readonly run: NewRun;
  readonly chosen: ChosenAgent;
  readonly paidBy: string | null;
}

/** The next message of a conversation. */
export type NewMessage = { readonly parts: readonly ContentPart[] } & Pick<StartRun, 'messageId' | 'a2a'>;

/** A statement of the caller. */
type Claim = () => Promise<void>;

/** A run that is stored together with others, and what commits with it. */
interface RunStart {
  readonly prepared: PreparedRun;
  readonly alongside: readonly Statement[];
}

interface Rejected {
  readonly error: unknown;
}

/** A run that may be stored, and the slot of this replica that it gets. */
interface AdmittedRun extends PreparedRun {
  readonly slot?: StartSlot;
}

const MAX_STARTS = 64;

/**
 * Starts, continues and cancels runs. Each change is committed together with its event; the replica that executes the run learns of
 * it by a message. `RunWorkers` executes runs.
 */
@Injectable()
export class RunsService {
  private readonly starts: GroupCommit<RunStart, Rejected | { readonly run: Run }>;

  constructor(
    private readonly db: Database,
    private readonly store: RunStore,
    private readonly targets: RunTargets,
    private readonly admission: RunAdmission,
    private readonly spending: LedgerSpending,
    private readonly workers: RunWorkers,
    private readonly events: RunEvents,
    private readonly settlement: RunSettlement,
    private readonly tasks: TaskCalls,
    private readonly conversations: ConversationStore,
    private readonly turns: ConversationTurns,
    private readonly workspaces: Workspaces,
  ) {
    this.starts = new GroupCommit(db, {
      name: 'run-starts',
      maxBatch: MAX_STARTS,
      commit: async (batch) => await this.insertAll(batch),
      failure: (error) => ({ error }),
      failsAll: isOutage,
      mayBeOneItem: (error) => !isOutage(error),
    });
  }

  async start(request: StartRun): Promise<Run> {
    return await this.startPrepared(await this.prepare(request));
  }

  /**
   * Stores the run, and `alongside` in the same transaction. Concurrent starts share a transaction. A start that may wait for a lock has a
   * transaction of its own, so that the others do not wait with it.
   */
  async startPrepared(prepared: PreparedRun, alongside: readonly Statement[] = []): Promise<Run> {
    const { run, chosen, paidBy } = prepared;
    const mayWait = chosen.maxRuns !== null || paidBy !== null || run.conversationId !== undefined;
    if (mayWait || this.db.inTransaction)
      return await this.transactionFor(prepared, async () => {
        for (const statement of alongside) this.db.sendWithCommit(statement);
        return await this.insert(prepared);
      });
    const started = await this.starts.run({ prepared, alongside });
    if ('error' in started) throw started.error;
    return started.run;
  }

  /**
   * A transaction in which the run is inserted. Runs of one conversation are stored one after the other; they wait for one another
   * before they take a connection.
   */
  async transactionFor<Result>({ run }: PreparedRun, work: () => Promise<Result>): Promise<Result> {
    return await this.turns.inOrder(conversationOf(run), async () => await this.db.transaction(work));
  }

  /**
   * Chooses the agent; nothing is stored. Rejects with RUN_TARGET_UNAVAILABLE if no agent is available, and with AGENT_BUSY if the agent
   * rejects further runs.
   */
  async prepare(request: StartRun, retryOf: string | null = null): Promise<PreparedRun> {
    const { namespace, target, messageId, a2a, conversationId, deadline = null, by } = request;
    const input = this.workspaces.accepted(request.input);
    toUserMessage({ parts: input }); // rejects an empty message
    this.admission.checkDeadline(deadline);
    const chosen = await this.targets.choose(namespace, target);
    await this.admission.checkCapacity(namespace, chosen); // repeated when the run is stored; an early check avoids useless work
    const { agentId, definition, limit: own, host, plugins } = chosen;
    const id = randomUUID().replaceAll('-', '');
    const limit = lowerLimit(request.limit ?? NO_LIMIT, own);
    this.spending.checkLimit(limit);
    const place = {
      id,
      namespace,
      rootId: id,
      parentId: null,
      depth: 0,
      retryOf,
      state: 'queued',
      host,
      plugins,
    } as const;
    const { redactAfterMs = null } = request;
    const message = { input, messageId, conversationId, ...(a2a && { a2a }) };
    const run = {
      ...place,
      ...message,
      ...traceOfStart(),
      target,
      agentId,
      definition,
      limit,
      deadline,
      redactAfterMs,
      createdBy: by,
    };
    return { run, chosen, paidBy: request.paidBy ?? null };
  }

  /**
   * Stores the run and its budget, in the transaction of its caller if there is one. If this replica has a free slot, the run is stored
   * with its lease and begins after the commit. Otherwise it is queued, and the next replica with a free slot claims it. Rejects with
   * SPENDING_LIMIT_REACHED if nothing can be reserved, and with RUN_QUEUE_FULL if the queue has no room for the run.
   *
   * `claim` is sent in the round trip of the inserts. If it rejects, this method rejects, and the caller must roll back.
   */
  async insert(prepared: PreparedRun, claim?: Claim): Promise<Run> {
    return await this.db.transaction(async () => {
      const admitted = await this.admit(prepared);
      if ('error' in admitted) throw admitted.error;
      try {
        return await this.write(admitted, claim);
      } catch (error) {
        admitted.slot?.release(); // the caller may commit its transaction without the run
        throw error;
      }
    });
  }

  /** Resolves when no start is being committed. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await this.starts.idle();
  }

  /** Cancels the whole tree. A run that is already cancelled is returned unchanged. */
  async cancel(key: RunKey, actor: RunActor): Promise<Run> {
    const { run, cancelled } = await this.db.transaction(async () => {
      const open = await this.changeable(key, actor);
      if (open.state !== 'cancelled' && isFinal(open.state)) throw new RunFinishedError(open.state);
      return { run: open, cancelled: await this.cancelTrees(open.state === 'cancelled' ? [] : [open.id], actor.by) };
    });
    await this.settlement.charge(cancelled);
    const facts = cancelled.find(({ id }) => id === run.id);
    return facts ? { ...run, ...facts, result: currentResult(facts.state, run.result) } : run;
  }

  /** Cancels unfinished runs with all their descendants. The caller has locked them. */
  async cancelLocked(rootIds: readonly string[], by: string): Promise<void> {
    await this.settlement.charge(await this.cancelTrees(rootIds, by));
  }

  /** Like `prepare`, for a new run with the target, the input and the limits of a finished run, but without its deadline. */
  async prepareRetry(key: RunKey, actor: RunActor): Promise<PreparedRun> {
    const run = await this.get(key);
    const { namespace, target, input, a2a, limit, state, rootId, id, redactAfterMs, redactedAt } = run;
    if (rootId !== id) throw new RunDelegatedError(rootId);
    if (!isFinal(state)) throw new RunNotFinishedError(state);
    if (redactedAt !== null) throw new RunRedactedError();
    const kept = redactAfterMs === null ? {} : { redactAfterMs };
    const conversation = await this.conversationOfRetry(run, actor);
    const request = { namespace, target, input, limit, ...kept, ...conversation, ...(a2a && { a2a }), by: actor.by };
    return await this.prepare(request, id);
  }

  /** Continues the conversation of a run that waits. Calls that wait for an approval are then not executed. */
  async continue(key: RunKey, { parts: given, messageId, a2a }: NewMessage, actor: RunActor): Promise<Run> {
    const parts = this.workspaces.accepted(given);
    toUserMessage({ parts });
    return await this.resume(key, actor, (run) => {
      if (isFinal(run.state)) throw new RunFinishedError(run.state);
      if (run.state !== 'waiting' || run.waitingFor === 'needs_review') throw new RunNotWaitingError(run, 'message');
      const sent = { ...(messageId !== undefined && { messageId }), ...(a2a && { a2a }) };
      const step = { type: 'message', parts, ...sent } as const;
      return { runId: run.id, step, result: currentResult('queued', run.result) };
    });
  }

  /**
   * Decides about a waiting call. The run continues, and waits again if other calls still wait. Until a replica continues the run, it
   * also accepts decisions about those calls. A decision answers one question, once: repeated, it has no effect, even if the model makes the
   * same call again; a different decision about the same question is rejected.
   */
  async approve(key: RunKey, decision: RunDecision, actor: RunActor): Promise<Run> {
    return await this.resume(key, actor, async (run) => await this.decided(run, decision, actor));
  }

  private async decided(run: Run, decision: RunDecision, actor: RunActor): Promise<DecidedStep | undefined> {
    try {
      if (isFinal(run.state)) throw new RunFinishedError(run.state);
      return stepOf({ ...run, result: await this.store.storedResult(run.id) }, decision, actor);
    } catch (error) {
      if (isRepeated(await this.store.findDecision(run.id, decision), decision)) return undefined;
      throw error;
    }
  }

  private async cancelTrees(rootIds: readonly string[], by: string): Promise<RunFacts[]> {
    if (rootIds.length === 0) return [];
    const cancelled = await this.settlement.withUsage(await this.store.cancelTrees(rootIds));
    await this.tasks.cancel(cancelled.map(({ id }) => id));
    await this.events.cancelled(rootIds, cancelled, by);
    return cancelled;
  }

  /** A retry continues the conversation of its caller, after the runs that wait in it. */
  private async conversationOfRetry(run: Run, { by }: RunActor): Promise<Pick<StartRun, 'conversationId'>> {
    const { id, namespace, createdBy, conversationId } = run;
    if (createdBy !== by) return {};
    const isIn = conversationId !== id || (await this.conversations.exists({ namespace, createdBy, id }));
    return isIn ? { conversationId } : {};
  }

  private async get(key: RunKey): Promise<Run> {
    const run = await this.store.find(key);
    if (!run) throw new RunNotFoundError(key.id);
    return run;
  }

  /** A rejected start does not affect the others. An error of the database fails them all, and each half of them is tried again. */
  private async insertAll(batch: readonly RunStart[]): Promise<(Rejected | { readonly run: Run })[]> {
    return await this.db.transaction(async () => {
      const admitted = await Promise.all(batch.map(async ({ prepared }) => await this.admit(prepared)));
      return await Promise.all(
        admitted.map(async (one, index) => {
          if ('error' in one) return one;
          for (const statement of batch[index]?.alongside ?? []) this.db.sendWithCommit(statement);
          return { run: await this.write(one) };
        }),
      );
    });
  }

  /**
   * Checks whether the run may be stored. All reads share the round trip of BEGIN. A run of a conversation first joins it, which may wait
   * for another start; it gets no slot if earlier runs are not finished.
   */
  private async admit(prepared: PreparedRun): Promise<AdmittedRun | Rejected> {
    const { run, chosen } = prepared;
    const conversation = conversationOf(run);
    const isItsTurn = !conversation || (await this.conversations.join(conversation, run.agentId));
    const slot = isItsTurn ? this.workers.takeSlot(run) : undefined;
    if (slot) this.db.afterRollback(() => slot.release());
    try {
      await Promise.all([
        this.admission.holdNamespace(run.namespace),
        this.admission.lockCapacity(run.namespace, chosen),
        this.spending.check(run.namespace, chosen.agentId, run.createdBy),
        slot ? undefined : this.admission.checkQueue(run),
      ]);
      return { ...prepared, slot };
    } catch (error) {
      slot?.release();
      if (error instanceof DomainError && !isOutage(error)) return { error };
      throw error;
    }
  }

  /** Needs two round trips: all inserts, and the events with the COMMIT. */
  private async write({ run, paidBy, slot }: AdmittedRun, claim?: Claim): Promise<Run> {
    const { namespace, id: runId, limit } = run;
    const stored = slot ? ({ ...run, state: 'running' } as const) : run;
    const claimed = claim?.(); // sent before the inserts
    const [added] = await Promise.all([
      this.store.insert(stored, slot?.lease),
      this.spending.createRun({ namespace, runId, parentRunId: paidBy, limit }),
      claimed,
    ]);
    if (!added) throw new Error(`the run ${run.id} already exists`);
    await (slot ? this.events.startedAtOnce(added, added.createdBy) : this.events.queued(added, added.createdBy));
    if (slot) this.db.afterCommit(() => slot.adopt(added));
    return added;
  }

  private async resume(key: RunKey, actor: RunActor, decide: Decide): Promise<Run> {
    return await this.db.transaction(async () => {
      const run = await this.changeable(key, actor);
      const decided = await decide(run);
      if (!decided) return run;
      await this.store.continue(run.id, decided);
      if (run.state !== 'queued') await this.events.queued(run, actor.by);
      return { ...run, state: 'queued', waitingFor: null, result: currentResult('queued', run.result) };
    });
  }

  /** Locks a run that the actor may change. */
  private async changeable(key: RunKey, { by, mayManage }: RunActor): Promise<Run> {
    const run = await this.store.lock(key);
    if (!run) throw new RunNotFoundError(key.id);
    if (!mayManage && run.createdBy !== by) throw new RunForeignError();
    if (run.rootId !== run.id) throw new RunDelegatedError(run.rootId);
    return run;
  }
}

/** Two principals that choose the same id have two conversations. */
function conversationOf({ namespace, createdBy, conversationId }: NewRun): ConversationKey | undefined {
  return conversationId === undefined ? undefined : { namespace, createdBy, id: conversationId };
}
